// The rules that keep the widget's rooms apart, its types whole and its data out of HTML.
import tseslint from "typescript-eslint";

const above = {
  contract: ["host", "poll", "state", "views", "main"],
  host: ["state", "poll", "views", "main"],
  state: ["host", "poll", "views", "main"],
  poll: ["views", "main"],
  views: ["host", "poll", "main"],
};

const noHtml = [
  { selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|srcdoc)$/]", message: "Data is never HTML." },
  { selector: "CallExpression[callee.property.name=/^(write|writeln|createContextualFragment|parseFromString|setHTMLUnsafe)$/]", message: "Data is never HTML." },
  { selector: "TemplateElement[value.raw=/\\.innerHTML|\\.srcdoc|style=/]", message: "No HTML from data, and no style attribute: the preview's policy forbids it." },
];
const noCast = {
  selector: "TSAsExpression:not([typeAnnotation.typeName.name='const']), TSTypeAssertion",
  message: "Only contract/parse.ts turns an unknown value into a typed one.",
};

export default tseslint.config(
  { ignores: ["dist/", "coverage/", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-restricted-syntax": ["error", ...noHtml, noCast],
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": "off",
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  { files: ["src/contract/parse.ts"], rules: { "no-restricted-syntax": ["error", ...noHtml] } },
  // The one place where a template's own text, never a value, becomes markup.
  { files: ["src/views/html.ts"], rules: { "no-restricted-syntax": ["error", noCast] } },
  ...Object.entries(above).map(([room, rooms]) => ({
    files: [`src/${room}/**/*.ts`],
    rules: {
      "no-restricted-imports": ["error", { patterns: [{ regex: `^(\\.\\./)+(${rooms.join("|")})(/|$)`, message: "Imports go down only." }] }],
    },
  })),
  {
    files: ["src/**/*.ts"],
    rules: { "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "localStorage", "sessionStorage"] },
  },
  { files: ["test/**/*.ts"], rules: { "@typescript-eslint/require-await": "off", "@typescript-eslint/unbound-method": "off" } },
);
