// The conformance suite imports a function that Node has from 22 on and that its client mode never calls.
import { register } from "node:module";

const fs = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;";
const hooks = `
const fs = "data:text/javascript," + encodeURIComponent(${JSON.stringify(fs)});
export const resolve = (specifier, context, next) =>
  specifier === "fs" && context.parentURL?.includes("/conformance/")
    ? { url: fs, shortCircuit: true }
    : next(specifier, context);
`;
register("data:text/javascript," + encodeURIComponent(hooks));
