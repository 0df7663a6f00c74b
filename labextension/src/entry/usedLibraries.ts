/** The libraries that the code of a cell uses, for the task made from it. */
const IMPORT =
  /^[ \t]*(?:import[ \t]+([^#\n]+)|from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import[ \t]+([^#\n]+))/gm;

/** The libraries that code uses by a name that it, or the notebook, imports. */
export function usedLibraries(code: string, notebook: string): string[] {
  const words = new Set(code.match(/[A-Za-z_]\w*/g));
  const found = [...bindings(notebook), ...bindings(code)];
  const used = found.filter(([name]) => words.has(name));
  return [...new Set(used.map(([, library]) => library))];
}

/** The names that imports bind, with the top-level package of each. */
function bindings(source: string): [string, string][] {
  return [...source.matchAll(IMPORT)].flatMap(([, modules, from, names]) =>
    (modules ?? names).split(',').flatMap((part): [string, string][] => {
      const [, path, alias] =
        /^[\s(]*([\w.]+)(?:\s+as\s+(\w+))?/.exec(part) ?? [];
      const root = path?.split('.')[0];
      return root ? [[alias ?? root, from ?? root]] : [];
    })
  );
}
