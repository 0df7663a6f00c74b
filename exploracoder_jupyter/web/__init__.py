"""The web as a source of passages; off unless enabled.

A query goes to one search engine (`search`). The best page that may be read (`fetching`) is
reduced to what its readers see (`text.html`), divided into sections by rules for its site
(`reading`), and ranked (`text.lexical_index`, `web_source`).
Pages are untrusted data: their instructions are never executed, and links on them are not followed.
"""
