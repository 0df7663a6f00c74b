/** What is sent to a kernel, depending on what it has and what the server has. */
import { Kernel, ServerConnection } from '@jupyterlab/services';

import { provideKernelSide } from '../kernelSide';

let ran: string[];
let asked: string[];

/** A kernel that answers so when it is asked whether it lacks the package, beside a server that answers so. */
function kernel(missing: object, status: number): Kernel.IKernelConnection {
  const fetch = (request: Request) => {
    asked.push(new URL(request.url).pathname);
    const body = JSON.stringify({ program: 'the program' });
    return Promise.resolve(new Response(body, { status }));
  };
  return {
    serverSettings: ServerConnection.makeSettings({
      baseUrl: 'http://localhost/base/',
      fetch: fetch as typeof window.fetch
    }),
    requestExecute: ({ code }: { code: string }) => {
      ran.push(...(code ? [code] : []));
      const content = { status: 'ok', user_expressions: { missing } };
      return { done: Promise.resolve({ content }) };
    }
  } as unknown as Kernel.IKernelConnection;
}

const answer = (text: string) => ({ data: { 'text/plain': text } });

beforeEach(() => {
  ran = [];
  asked = [];
});

it('runs the program of the server where the package is missing', async () => {
  await provideKernelSide(kernel(answer('True'), 200));
  expect(asked).toEqual(['/base/exploracoder_jupyter/kernel-side']);
  expect(ran).toEqual(['the program']);
});

it.each([
  ['has the package', answer('False')],
  ['does not run Python', { status: 'error' }]
])('does nothing in a kernel that %s', async (_, missing) => {
  await provideKernelSide(kernel(missing, 200));
  expect([asked, ran]).toEqual([[], []]);
});

it('runs nothing where the server does not have the program', async () => {
  await provideKernelSide(kernel(answer('True'), 404));
  expect(ran).toEqual([]);
  expect(asked).toHaveLength(1);
});
