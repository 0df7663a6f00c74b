/**
 * The kernels that this page has connected to, kept across a reload: the notebook cells that mention the extension may
 * not have been saved.
 */
const KEY = 'exploracoder-jupyter:kernels';
const MAX_KERNELS = 20;

type Store = Pick<Storage, 'getItem' | 'setItem'>;

export function isKnownKernel(kernel: string, storage?: Store): boolean {
  return read(storage).includes(kernel);
}

export function rememberKernel(kernel: string, storage?: Store): void {
  const known = read(storage);
  if (known.includes(kernel)) {
    return;
  }
  try {
    const now = [...known, kernel].slice(-MAX_KERNELS);
    (storage ?? window.sessionStorage).setItem(KEY, JSON.stringify(now));
  } catch {
    // Storage may be forbidden. The link is then made only if the notebook mentions the extension.
  }
}

function read(storage?: Store): string[] {
  try {
    const kept = (storage ?? window.sessionStorage).getItem(KEY);
    const known: unknown = JSON.parse(kept ?? '[]');
    return Array.isArray(known) ? known : [];
  } catch {
    return [];
  }
}
