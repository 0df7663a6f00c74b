/** The libraries that the code of a cell uses, for the task made from it. */

/** Escape sequences that colour a traceback. */
const COLOR = /\x1b\[[0-9;]*m/g;
/** A file of an installed package; the group is the package. */
const INSTALLED = /\b(?:site|dist)-packages[\\/](\w+)/;

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

/** The library whose code the user's code called when it failed: that of the outermost frame in installed code. */
export function failingLibrary(traceback: string[]): string | undefined {
  return INSTALLED.exec(traceback.join('\n').replace(COLOR, ''))?.[1];
}
