/** Generates src/messages.ts from messages.schema.json; with --check, fails if src/messages.ts is out of date. */
import { readFile, writeFile } from 'node:fs/promises';
import { compile } from 'json-schema-to-typescript';

const SCHEMA = 'messages.schema.json';
const MESSAGES = 'src/messages.ts';

const BANNER = `// Made by \`jlpm types\` from ${SCHEMA}, which scripts/page_types.py writes from exploracoder_jupyter/protocol/browser_messages.py. Do not edit.

import type { JSONValue } from '@lumino/coreutils';
`;

const { constants, ...schema } = JSON.parse(await readFile(SCHEMA, 'utf-8'));
const values = Object.entries(constants).map(
  ([name, value]) =>
    `export const ${name} = ${typeof value === 'string' ? `'${value}'` : value};\n`
);
const types = await compile(schema, 'Message', {
  additionalProperties: false,
  bannerComment: [BANNER, ...values].join('\n'),
  style: JSON.parse(await readFile('.prettierrc', 'utf-8'))
});

if (!process.argv.includes('--check')) {
  await writeFile(MESSAGES, types);
} else if ((await readFile(MESSAGES, 'utf-8')) !== types) {
  console.error(`${MESSAGES} is out of date; run \`jlpm types\``);
  process.exit(1);
}
