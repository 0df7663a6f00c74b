import jupyter from '@jupyter/eslint-plugin';
import tseslint from 'typescript-eslint';

const NO_HTML = 'Never insert text written by a model as HTML.';

export default tseslint.config(
  {
    ignores: ['lib/', 'coverage/', 'src/messages.ts', '*.js', '*.mjs', 'style/']
  },
  { plugins: { jupyter } },
  ...jupyter.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}'],
    extends: tseslint.configs.recommended,
    languageOptions: {
      parserOptions: {
        project: 'tsconfig.test.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'AssignmentExpression[left.property.name=/^(inner|outer)HTML$/]',
          message: NO_HTML
        },
        {
          selector: 'CallExpression[callee.property.name="insertAdjacentHTML"]',
          message: NO_HTML
        },
        {
          selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
          message: NO_HTML
        }
      ],
      'prefer-arrow-callback': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error'
    }
  },
  {
    rules: {
      // The whole bundle is small, and most of it is needed as soon as a notebook is open.
      'jupyter/prefer-lazy-imports': 'off'
    }
  },
  {
    // Tests use fake runs, shells and applications, and end with their page.
    files: ['src/**/__tests__/**'],
    rules: {
      'jupyter/command-described-by': 'off',
      'jupyter/no-untranslated-string': 'off',
      'jupyter/require-disposable-ownership': 'off',
      'jupyter/require-signal-cleanup': 'off'
    }
  }
);
