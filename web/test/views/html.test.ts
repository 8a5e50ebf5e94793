import { beforeEach, describe, expect, test } from "vitest";
import type { Piece, Template } from "../../src/views/html";
import { html, nothing, render, repeat } from "../../src/views/html";

let root: HTMLElement;

beforeEach(() => {
  document.body.replaceChildren();
  root = document.body.appendChild(document.createElement("div"));
});

function shown(): string {
  return root.getHTML().replace(/<!--.*?-->/g, "");
}

function draw(piece: Piece): string {
  render(piece, root);
  return shown();
}

/** What a drawing changed, as the names of what was touched. */
function touched(run: () => void): readonly string[] {
  const observer = new MutationObserver(() => undefined);
  observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  run();
  const records = observer.takeRecords();
  observer.disconnect();
  return records.map(({ type, attributeName, target }) => attributeName ?? (type === "characterData" ? "text" : target.nodeName));
}

describe("a template", () => {
  test("holds texts, numbers, templates and nothing", () => {
    const view = (piece: Piece): Template => html`<p>a ${piece} b</p>`;
    const pieces = ["x", 0, html`<b>y</b>`, nothing, undefined, "", html`<i>z</i>`, html`<i>${"w"}</i>`, "v"];
    expect(pieces.map((piece) => draw(view(piece)))).toEqual([
      "<p>a x b</p>", "<p>a 0 b</p>", "<p>a <b>y</b> b</p>", "<p>a  b</p>", "<p>a  b</p>", "<p>a  b</p>",
      "<p>a <i>z</i> b</p>", "<p>a <i>w</i> b</p>", "<p>a v b</p>",
    ]);
  });

  test("may begin with a value, hold nothing else and be empty", () => {
    expect(draw(html`${"a"}${html`<b>c</b>`}`)).toBe("a<b>c</b>");
    expect(draw(nothing)).toBe("");
    expect(root.childNodes.length).toBe(1);
  });

  test("sets attributes of several values, switches, properties and listeners", () => {
    const heard: string[] = [];
    const view = (name: string, isOpen: boolean): Template =>
      html`<details class="a ${name} b" title=${name} ?open=${isOpen}></details><input .value=${name} @click=${() => heard.push(name)}>`;
    draw(view("x", true));
    const [details, input] = root.querySelectorAll<HTMLInputElement>("details, input");
    expect([details?.className, details?.title, details?.hasAttribute("open"), input?.value]).toEqual(["a x b", "x", true, "x"]);
    draw(view("y", false));
    input?.click();
    expect([details?.className, details?.title, details?.hasAttribute("open"), input?.value]).toEqual(["a y b", "y", false, "y"]);
    expect(heard).toEqual(["y"]);
    expect([...(details?.attributes ?? []), ...(input?.attributes ?? [])].map(({ name }) => name)).toEqual(["class", "title"]);
  });

  test("never makes markup of a value, wherever it stands", () => {
    const evil = `"><img src=x onerror=alert(1)><!--§--></p><script>`;
    draw(html`<p title=${evil} class="a ${evil}">${evil}</p><ul>${repeat([evil], (each) => each, (each) => html`<li>${each}</li>`)}</ul>`);
    expect(root.querySelectorAll("*").length).toBe(3);
    expect([root.querySelector("p")?.title, root.querySelector("p")?.textContent, root.querySelector("li")?.textContent]).toEqual([evil, evil, evil]);
  });

  test("is no template when it came as data", () => {
    const data: unknown = JSON.parse('{"strings":["<img>"],"values":[],"key":"a"}');
    Reflect.apply(render, undefined, [data, root]);
    expect(shown()).toBe("");
  });

  test("touches only what differs", () => {
    const view = (title: string, text: string): Template => html`<p title=${title}><b>fixed</b> ${text} ${html`<i>${text}</i>`}</p>`;
    draw(view("a", "b"));
    expect(touched(() => draw(view("a", "b")))).toEqual([]);
    expect(touched(() => draw(view("c", "b")))).toEqual(["title"]);
    expect(touched(() => draw(view("c", "d")))).toEqual(["text", "text"]);
  });
});

describe("rows", () => {
  const list = (keys: readonly string[]): Template =>
    html`<ul>${repeat(keys, (key) => key, (key) => html`<li>${key}</li>`)}</ul>`;
  const rows = (): readonly Element[] => [...root.querySelectorAll("li")];
  const texts = (): string => rows().map((row) => row.textContent).join("");

  test.each(["", "a", "abc", "cab", "bca", "xabc", "axbc", "cba", "b", "dbea", "abab"])(
    "keep their elements from any order to %s",
    (after) => {
      for (const before of ["", "a", "abc", "cba", "fedcba", "aab"]) {
        draw(list(before.split("")));
        const known = new Map(rows().map((row) => [row.textContent, row]));
        draw(list(after.split("")));
        expect(texts()).toBe(after);
        for (const key of new Set(after.split(""))) {
          const isOnce = before.includes(key) && before.indexOf(key) === before.lastIndexOf(key);
          if (isOnce) expect(rows()).toContain(known.get(key));
        }
      }
    },
  );

  test("that stay are not moved when others come before them or go", () => {
    draw(list(["a", "b", "c"]));
    const [a, , c] = rows();
    const observer = new MutationObserver(() => undefined);
    observer.observe(root, { subtree: true, childList: true });
    draw(list(["x", "a", "c", "y"]));
    const moved = observer.takeRecords().flatMap(({ removedNodes }) => [...removedNodes]);
    observer.disconnect();
    expect([texts(), moved.includes(a ?? root), moved.includes(c ?? root)]).toEqual(["xacy", false, false]);
  });

  test("of a list without keys are known by their place", () => {
    const plain = (items: readonly string[]): Template => html`<p>${items.map((item) => html`<b>${item}</b>`)}</p>`;
    expect(draw(plain(["a", "b"]))).toBe("<p><b>a</b><b>b</b></p>");
    const [first] = root.querySelectorAll("b");
    expect(draw(plain(["c"]))).toBe("<p><b>c</b></p>");
    expect(root.querySelector("b")).toBe(first);
  });

  test("of another template are drawn anew under the same key", () => {
    const view = (isBold: boolean): Template =>
      html`<p>${repeat(["a"], (key) => key, (key) => (isBold ? html`<b>${key}</b>` : html`<i title=${key}></i>`))}</p>`;
    draw(view(true));
    expect([draw(view(false)), draw(view(true))]).toEqual(['<p><i title="a"></i></p>', "<p><b>a</b></p>"]);
  });

  test("leave nothing behind when something else comes", () => {
    const view = (piece: Piece | readonly Template[]): Template => html`<p>${piece}</p>`;
    draw(view([html`<b>a</b>`, html`<b>b</b>`]));
    expect(draw(view("text"))).toBe("<p>text</p>");
    expect(draw(view([]))).toBe("<p></p>");
    expect(draw(view(html`<i>c</i>`))).toBe("<p><i>c</i></p>");
  });
});
