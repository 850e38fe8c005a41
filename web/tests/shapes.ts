/** Whether data have the shape that a type of `web/src` declares: TypeScript's compiler looks at them as at a literal. */

import { join, resolve } from "node:path";
import ts from "typescript";

/** Data of the command, and the type that a page reads them by. */
export interface Sample {
  /** What it is, for messages. */
  name: string;
  /** An expression of types, such as `Live[]`. */
  type: string;
  /** The file below `web/src` that declares it. */
  from: string;
  data: unknown;
  /** The type names a part of the fields. Elsewhere a field that no type names is an error too. */
  part?: boolean;
}

/** At most so many values of a column are kept: of more, a compiler makes one large type. */
const VALUES = 4;

const isPlain = (v: unknown): boolean => v === null || typeof v !== "object";

/** What two elements of a list have in common that differ in their numbers alone. */
const outline = (data: unknown): string => JSON.stringify(data, (_, v: unknown) => (typeof v === "number" ? 0 : v));

/** The same data with one element of each kind in long lists. */
function short(data: unknown): unknown {
  if (Array.isArray(data)) {
    if (data.every(isPlain)) {
      // What is shorter may be a tuple.
      if (data.length <= 2 * VALUES) return data;
      return [...data.filter((v) => v !== null).slice(0, VALUES), ...data.filter((v) => v === null).slice(0, 1)];
    }
    // So may a pair of objects.
    if (data.length <= 2) return data.map(short);
    return [...new Map(data.map((v: unknown) => short(v)).map((v) => [outline(v), v])).values()];
  }
  if (data === null || typeof data !== "object") return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, short(value)]));
}

/** What the compiler finds wrong with each of `samples`, a line each. */
export function wrongShapes(samples: Sample[]): string[] {
  const tests = resolve("tests");
  const files = new Map(
    samples.map(({ name, type, from, data, part }, i) => {
      // A name of the type's expression is imported; `Record` and the like are everywhere.
      const names = (type.match(/[A-Z]\w*/g) ?? []).filter((word) => !["Pick", "Record"].includes(word));
      const lines = [
        `import type { ${names.join(", ")} } from "../src/${from}";`,
        // Of a literal the compiler knows that it has no other fields; of a name it does not.
        `export const found = ${JSON.stringify(short(data))}${part === true ? "" : ` satisfies ${type}`};`,
        ...(part === true ? [`export const read: ${type} = found;`] : []),
      ];
      return [join(tests, `shape-${i}.ts`), { name, text: lines.join("\n") }];
    }),
  );

  const read = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, resolve("."));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.text ?? readFile(path);
  host.getSourceFile = (path, version, ...more) => {
    const made = files.get(path);
    return made === undefined ? getSourceFile(path, version, ...more) : ts.createSourceFile(path, made.text, version);
  };
  const program = ts.createProgram([...files.keys()], { ...options, noEmit: true, types: ["vite/client"] }, host);
  return [...files].flatMap(([path, { name }]) => {
    const source = program.getSourceFile(path);
    if (source === undefined) throw new Error(`${path}: not read`);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    // Each message once: a field that no type names is wrong in each element of a list.
    return [...new Set(found.map((d) => `${name}: ${ts.flattenDiagnosticMessageText(d.messageText, " ")}`))];
  });
}
