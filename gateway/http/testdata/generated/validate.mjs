// Says what is wrong with the OpenAPI document, by the schema of OpenAPI itself.
import { Validator } from "@seriousme/openapi-schema-validator";

const found = await new Validator().validate("./openapi.json");
if (!found.valid) {
  console.error(JSON.stringify(found.errors, null, 2));
  process.exit(1);
}
