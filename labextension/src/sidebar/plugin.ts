import { JupyterFrontEndPlugin } from '@jupyterlab/application';

/** The sidebar that shows and steers runs. */
export const plugins: JupyterFrontEndPlugin<unknown>[] = [];
