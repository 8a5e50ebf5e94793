/**
 * Templates that are built once and then changed only where their values differ. Small on purpose:
 * it knows what these views need, and a value never becomes markup.
 */

/** What a template may hold. In an attribute: text, a number, a boolean or a listener. */
export type Value = Piece | boolean | readonly Template[] | ((event: Event) => void);
export type Piece = Template | string | number | null | undefined;

/** Draws nothing. */
export const nothing = null;

/** A value's place in the markup; no template has this character elsewhere. */
const MARK = "§";
const built = new WeakMap<TemplateStringsArray, Blueprint>();
const drawn = new WeakMap<Element, Slot>();

/** One drawing of a template. Only `html` makes one, so that data can never pass for it. */
export class Template {
  constructor(
    readonly strings: TemplateStringsArray,
    readonly values: readonly Value[],
    public key = "",
  ) {}
}

/**
 * Markup with values. `<`, `>` and `§` occur in tags and values only; `@name=` listens, `?name=`
 * toggles an attribute, `.name=` sets a property.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Template {
  return new Template(strings, values);
}

/**
 * One row per item, each of one element and no more. A row keeps its element as long as its key
 * is there.
 */
export function repeat<T>(
  items: readonly T[],
  key: (item: T) => string | number,
  row: (item: T) => Template,
): readonly Template[] {
  return items.map((item) => {
    const template = row(item);
    template.key = String(key(item));
    return template;
  });
}

/** Makes `root` show `piece`; null empties it. */
export function render(piece: Piece, root: Element): void {
  const slot = drawn.get(root) ?? new Slot(root.appendChild(new Comment()));
  drawn.set(root, slot);
  slot.set(piece);
}

interface Blueprint {
  readonly content: DocumentFragment;
  readonly holes: readonly Hole[];
}

/** Where values go: an attribute with the texts around its values, or, without a name, a child. */
interface Hole {
  readonly path: readonly number[];
  readonly name: string;
  readonly texts: readonly string[];
}

function blueprint(strings: TemplateStringsArray): Blueprint {
  const known = built.get(strings);
  if (known) return known;
  let markup = "";
  strings.forEach((text, index) => {
    markup += text;
    const isInTag = markup.lastIndexOf("<") > markup.lastIndexOf(">");
    if (index < strings.length - 1) markup += isInTag ? MARK : `<!--${MARK}-->`;
  });
  const element = document.createElement("template");
  element.innerHTML = markup;
  const holes: Hole[] = [];
  findHoles(element.content, [], holes);
  const made = { content: element.content, holes };
  built.set(strings, made);
  return made;
}

/** Takes the marked attributes out, so that none is ever parsed with its mark. */
function findHoles(node: Node, path: readonly number[], holes: Hole[]): void {
  if (node instanceof Element) {
    for (const { name, value } of [...node.attributes]) {
      if (!value.includes(MARK)) continue;
      holes.push({ path, name, texts: value.split(MARK) });
      node.removeAttribute(name);
    }
  }
  node.childNodes.forEach((child, index) => {
    const inner = [...path, index];
    if (child instanceof Comment && child.data === MARK) holes.push({ path: inner, name: "", texts: ["", ""] });
    else findHoles(child, inner, holes);
  });
}

type Part = (values: readonly Value[]) => void;

/** A copy of a template, and what changes it. */
interface Drawing {
  readonly strings: TemplateStringsArray;
  readonly copy: DocumentFragment;
  /** Its one element, if it is nothing else. */
  readonly element: ChildNode | null;
  readonly update: Part;
}

function draw({ strings, values }: Template): Drawing {
  const { content, holes } = blueprint(strings);
  const copy = document.importNode(content, true);
  // All places are found before the first value moves any of them.
  const nodes = holes.map(({ path }) =>
    path.reduce<Node | undefined>((node, index) => node?.childNodes[index], copy),
  );
  const only = copy.childNodes.length === 1 ? copy.firstElementChild : null;
  const parts: Part[] = [];
  let taken = 0;
  holes.forEach(({ name, texts }, index) => {
    const node = nodes[index];
    const from = taken;
    taken += texts.length - 1;
    if (node instanceof Element) parts.push(attribute(node, name, texts, from));
    if (node instanceof Comment) {
      const slot = new Slot(node);
      parts.push((given) => slot.set(given[from]));
    }
  });
  const update = (given: readonly Value[]): void => {
    for (const part of parts) part(given);
  };
  update(values);
  return { strings, copy, element: only, update };
}

function attribute(element: Element, name: string, texts: readonly string[], from: number): Part {
  const kind = name[0];
  const bare = name.slice(1);
  if (kind === "@") {
    let listener: Value;
    element.addEventListener(bare, (event) => {
      if (typeof listener === "function") listener(event);
    });
    return (values) => {
      listener = values[from];
    };
  }
  const isWhole = texts.length === 2 && texts.join("") === "";
  let last: Value;
  return (values) => {
    const next = isWhole
      ? values[from]
      : texts.reduce((whole, text, index) => whole + written(values[from + index - 1]) + text);
    if (next === last) return;
    last = next;
    if (kind === ".") Reflect.set(element, bare, next);
    else if (kind === "?") element.toggleAttribute(bare, next === true);
    else element.setAttribute(name, written(next));
  };
}

function written(value: Value): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** A place before a comment, for a text, a template or rows. */
class Slot {
  readonly #end: ChildNode;
  /** Where begins what is shown; it reaches to the end. */
  #first: ChildNode | null = null;
  #text: Text | null = null;
  #drawing: Drawing | null = null;
  #rows: Map<string, Drawing> | null = null;

  constructor(end: ChildNode) {
    this.#end = end;
  }

  set(value: Value): void {
    if (value instanceof Template) this.#draw(value);
    else if (Array.isArray(value)) this.#list(value);
    else this.#write(written(value));
  }

  #write(text: string): void {
    if (this.#text) {
      if (this.#text.data !== text) this.#text.data = text;
      return;
    }
    this.#clear();
    if (text) this.#begin((this.#text = new Text(text)));
  }

  #draw(template: Template): void {
    if (this.#drawing?.strings === template.strings) {
      this.#drawing.update(template.values);
      return;
    }
    this.#clear();
    const drawing = draw(template);
    this.#drawing = drawing;
    // What is not one element may begin with a place that changes.
    this.#begin(drawing.element ?? new Comment());
    this.#end.before(drawing.copy);
  }

  #list(templates: readonly Template[]): void {
    if (!this.#rows) {
      this.#clear();
      this.#begin(new Comment());
    }
    const before = this.#rows ?? new Map<string, Drawing>();
    const rows = new Map<string, Template>();
    templates.forEach((template, index) => {
      const { key } = template;
      // Without a key, or with one that is taken, a row is known by its place.
      rows.set(!key || rows.has(key) ? `\u0000${index}` : key, template);
    });
    // First what goes, so that what stays need not move.
    for (const [key, { element }] of before) if (!rows.has(key)) element?.remove();
    const after = new Map<string, Drawing>();
    let next = this.#first?.nextSibling;
    for (const [key, template] of rows) {
      let row = before.get(key);
      if (row?.strings === template.strings) row.update(template.values);
      else {
        if (row && row.element === next) next = next?.nextSibling;
        row?.element?.remove();
        row = draw(template);
      }
      after.set(key, row);
      if (row.element === next) next = next?.nextSibling;
      else if (row.element) next?.before(row.element);
    }
    this.#rows = after;
  }

  #begin(first: ChildNode): void {
    this.#first = first;
    this.#end.before(first);
  }

  #clear(): void {
    while (this.#first && this.#first !== this.#end) {
      const { nextSibling } = this.#first;
      this.#first.remove();
      this.#first = nextSibling;
    }
    this.#first = this.#text = this.#drawing = this.#rows = null;
  }
}
