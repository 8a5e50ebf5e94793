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
const drawn = new WeakMap<Element, (value: Value) => void>();

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
  const fill = drawn.get(root) ?? place(root.appendChild(new Comment()));
  drawn.set(root, fill);
  fill(piece);
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
      const fill = place(node);
      parts.push((given) => fill(given[from]));
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

/** A place before the comment `end`, for a text, a template or rows; what it returns fills it. */
function place(end: ChildNode): (value: Value) => void {
  /** Where begins what is shown; it reaches to the end. */
  let first: ChildNode | null = null;
  let text: Text | null = null;
  let drawing: Drawing | null = null;
  let rows: Map<string, Drawing> | null = null;

  return (value) => {
    if (value instanceof Template) show(value);
    else if (Array.isArray(value)) list(value);
    else write(written(value));
  };

  function write(words: string): void {
    if (text) {
      if (text.data !== words) text.data = words;
      return;
    }
    clear();
    if (words) begin((text = new Text(words)));
  }

  function show(template: Template): void {
    if (drawing?.strings === template.strings) {
      drawing.update(template.values);
      return;
    }
    clear();
    drawing = draw(template);
    // What is not one element may begin with a place that changes.
    begin(drawing.element ?? new Comment());
    end.before(drawing.copy);
  }

  function list(templates: readonly Template[]): void {
    if (!rows) {
      clear();
      begin(new Comment());
    }
    const before = rows ?? new Map<string, Drawing>();
    const wanted = new Map<string, Template>();
    templates.forEach((template, index) => {
      const { key } = template;
      // Without a key, or with one that is taken, a row is known by its place.
      wanted.set(!key || wanted.has(key) ? `\u0000${index}` : key, template);
    });
    // First what goes, so that what stays need not move.
    for (const [key, { element }] of before) if (!wanted.has(key)) element?.remove();
    rows = new Map<string, Drawing>();
    let next = first?.nextSibling;
    for (const [key, template] of wanted) {
      let row = before.get(key);
      if (row?.strings === template.strings) row.update(template.values);
      else {
        if (row && row.element === next) next = next?.nextSibling;
        row?.element?.remove();
        row = draw(template);
      }
      rows.set(key, row);
      if (row.element === next) next = next?.nextSibling;
      else if (row.element) next?.before(row.element);
    }
  }

  function begin(node: ChildNode): void {
    first = node;
    end.before(node);
  }

  function clear(): void {
    while (first && first !== end) {
      const { nextSibling } = first;
      first.remove();
      first = nextSibling;
    }
    first = text = drawing = rows = null;
  }
}
