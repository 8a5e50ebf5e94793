import { defineConfig } from "vite";
import type { Plugin } from "vite";

const ENTRIES = { monitor: "src/main.ts", preview: "preview/main.ts" };

/**
 * Names of ours that never leave the script, which the build shortens. None may be a name of the
 * contract, of a host or of the browser; the e2e tests run on what comes out.
 */
const INNER = new RegExp(
  `^(${[
    "announcement asked ask canRetry canSend chooseMode chooseProject chooseTask copy dates",
    "environment fate folded followed holes insets isChosen isMissing isPolled isReady onEnd",
    "onFailure onSchedule onSnapshot openLink pane problem pushed reportHeight requestMode",
    "cancel command fold found isOpen key label path why",
    "modes retry scope section timeout until",
    "looks retryAt situation sparks strings summary takenAt texts update element moment num spans",
  ]
    .join(" ")
    .replaceAll(" ", "|")})$`,
);

/** Removes the line breaks between a template's tags and values; the layout needs none of them. */
const dense: Plugin = {
  name: "dense-templates",
  enforce: "pre",
  transform: (code, id) =>
    id.includes("/src/views/") ? code.replaceAll(/([>}])\s*\n\s*(?=<|\$\{)/g, "$1") : null,
};

/** One classic script and one style sheet per entry: `vite build --mode monitor|preview`. */
export default defineConfig(({ mode }) => {
  const name = mode === "preview" ? "preview" : "monitor";
  return {
    publicDir: false,
    plugins: [dense],
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      target: "es2022",
      emptyOutDir: false,
      outDir: "dist",
      minify: "terser",
      terserOptions: {
        ecma: 2020,
        compress: {
          passes: 6,
          inline: false,
          keep_fargs: false,
          pure_getters: true,
          unsafe: true,
          unsafe_arrows: true,
          unsafe_comps: true,
          unsafe_methods: true,
        },
        mangle: { properties: { regex: INNER, keep_quoted: true } },
        format: { comments: false },
      },
      lib: {
        entry: ENTRIES[name],
        name: "kasmos",
        formats: ["iife"],
        fileName: () => `${name}.js`,
        cssFileName: name,
      },
      rollupOptions: { output: { extend: true } },
    },
    esbuild: { legalComments: "none" },
  };
});
