/** Version of this package, which a release sets. */
export const VERSION = "0.1.0";
