import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package, wherever its tests are compiled to. */
export const PACKAGE = ((): string => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
})();

/** The top of the project. */
export const TOP = join(PACKAGE, "..", "..");
