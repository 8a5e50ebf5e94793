import { defineConfig } from "vite";
import type { Plugin } from "vite";

const ENTRIES = { monitor: "src/main.ts", preview: "preview/main.ts" };

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
        compress: { passes: 3, pure_getters: true, unsafe_arrows: true },
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
