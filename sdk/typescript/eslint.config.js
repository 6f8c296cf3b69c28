// Rules beyond the strict compiler: above all that no promise is left alone.
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  { ignores: ["build", "dist", "node_modules", "nodes", "bench", "tools", "eslint.config.js", "src/protocol/messages.ts"] },
  tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/prefer-promise-reject-errors": "off", // errors of callers pass through as unknown
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true, allow: [{ name: "Error", from: "lib" }] }],
      "@typescript-eslint/no-this-alias": ["error", { allowedNames: ["host"] }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "max-len": ["error", { code: 140 }],
      eqeqeq: "error",
    },
  },
  {
    files: ["test/**"],
    rules: { "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "suite"] }] }] },
  },
);
