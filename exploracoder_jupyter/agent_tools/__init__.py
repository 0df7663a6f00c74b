"""Tools for coding agents, served by the Model Context Protocol: `jupyter explora mcp`.

An agent reads the APIs of installed libraries and tries code in forks of a running kernel. It is the model: no endpoint
and no key is needed, except to explore a whole task. Nothing of what it sends is executed in a kernel of the user's.
`tool_server` defines the tools; every other module does the work of some of them and knows nothing of the protocol.
"""
