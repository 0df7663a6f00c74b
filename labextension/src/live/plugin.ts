import { JupyterFrontEndPlugin } from '@jupyterlab/application';

/** The cells of runs, live in the open notebook. */
export const plugins: JupyterFrontEndPlugin<unknown>[] = [];
