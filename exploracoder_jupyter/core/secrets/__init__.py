"""Decides what is a secret and how text is redacted: the only home of these rules. Standard library only.

`secret_names`: which names are those of secrets. `secret_patterns`: what secrets look like in text and addresses.
`redaction`: removes them from text. `credential_files`: which files contain them. Callers decide where to look.
"""
