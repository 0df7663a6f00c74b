/** Names of libraries to complete: those that the notebook imports, and those that the kernel knows. */
import type { Kernel } from '@jupyterlab/services';

export interface ILibraryNames {
  imported: readonly string[];
  installed: readonly string[];
}

const STATEMENT = /^[ \t]*(?:import[ \t]+([^#\n]+)|from[ \t]+([A-Za-z_]\w*))/gm;

/** Prefix of the code whose completion lists importable modules in IPython. */
const IMPORT = 'import ';

const MAX_SHOWN = 8;

/** The top-level packages that Python code imports, in order. */
export function importedBy(source: string): string[] {
  const names = [...source.matchAll(STATEMENT)].flatMap(([, list, from]) =>
    from ? [from] : list.split(',').map(part => part.trim())
  );
  const roots = names.flatMap(name => /^[A-Za-z_]\w*/.exec(name)?.[0] ?? []);
  return [...new Set(roots)];
}

/** The modules that an IPython kernel can import. Works before the extension is loaded; empty for other kernels. */
export async function importableModules(
  kernel: Kernel.IKernelConnection
): Promise<string[]> {
  const request = { code: IMPORT, cursor_pos: IMPORT.length };
  const { content } = await kernel.requestComplete(request);
  const found = content.status === 'ok' ? content.matches : [];
  return found.filter(name => /^[A-Za-z]\w*$/.test(name));
}

/** The names that match the word, imported ones first. Without a word, only the imported ones. */
export function suggestLibraries(
  word: string,
  { imported, installed }: ILibraryNames,
  chosen: readonly string[]
): string[] {
  const names = [...new Set([...imported, ...(word ? installed : [])])];
  const start = word.toLowerCase();
  return names
    .filter(name => name.toLowerCase().startsWith(start))
    .filter(name => name !== word && !chosen.includes(name))
    .slice(0, MAX_SHOWN);
}
