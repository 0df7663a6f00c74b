/**
 * Sends the part of the package that runs in kernels to a kernel whose environment does not have the package, so that
 * one installation, beside JupyterLab, serves every kernel. The package's extension of Jupyter Server has the program
 * that does it; where there is no such extension nothing happens, and the cell says what is missing.
 */
import { URLExt } from '@jupyterlab/coreutils';
import { Kernel, ServerConnection } from '@jupyterlab/services';

const ADDRESS = 'exploracoder_jupyter/kernel-side';

/** Evaluated in the kernel. */
const IS_MISSING =
  "__import__('importlib.util').util.find_spec('exploracoder_jupyter') is None";

/** Load the extension in the kernel if the package is missing there. Never rejects. */
export async function provideKernelSide(
  kernel: Kernel.IKernelConnection
): Promise<void> {
  try {
    if (await isMissing(kernel)) {
      const code = await fetchProgram(kernel.serverSettings);
      await kernel.requestExecute({ code, silent: true, store_history: false })
        .done;
    }
  } catch {
    // The cell runs without, and its error says what is missing.
  }
}

async function isMissing(kernel: Kernel.IKernelConnection): Promise<boolean> {
  const reply = await kernel.requestExecute({
    code: '',
    silent: true,
    store_history: false,
    user_expressions: { missing: IS_MISSING }
  }).done;
  if (reply.content.status !== 'ok') {
    return false;
  }
  const found = reply.content.user_expressions.missing as
    { data?: Record<string, string> } | undefined;
  return found?.data?.['text/plain'] === 'True';
}

async function fetchProgram(
  settings: ServerConnection.ISettings
): Promise<string> {
  const url = URLExt.join(settings.baseUrl, ADDRESS);
  const response = await ServerConnection.makeRequest(url, {}, settings);
  if (!response.ok) {
    throw new ServerConnection.ResponseError(response);
  }
  return ((await response.json()) as { program: string }).program;
}
