"""Which files contain credentials, judging by names and content; where they are searched is up to the caller.

Names of keys, states and settings are those that tools give them. A file that only may hold credentials (a certificate
or a key, a file of settings) is read, if it is small: what counts are private keys, formats that issuers of keys use,
and settings such as `client_secret`. Code, tables and installed packages are not read.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.secrets.secret_names import is_credential_stem
from exploracoder_jupyter.core.secrets.secret_patterns import redact_patterns

_FOLDERS: Final = (".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store")
_FILES: Final = (
    ".netrc", "_netrc", ".authinfo", ".pgpass", ".my.cnf", ".mylogin.cnf", ".npmrc", ".pypirc", ".git-credentials",
    ".vault-token", ".vault_pass", ".vault-pass", ".vault_password", ".databrickscfg", ".boto", ".s3cfg",
    ".passwd-s3fs", ".dockercfg", ".htpasswd", ".Renviron", ".snowsql/config",
)  # fmt: skip
_NAMED: Final = re.compile(
    r"id_(rsa|dsa|ecdsa|ed25519)(_sk)?([._-].*)?(?<!\.pub)"
    r"|.+\.(env|p12|pfx|jks|keystore|ppk|kdbx?|kubeconfig|tfvars|tfvars\.json|tfstate(\..+)?)"
    r"|kubeconfig([._-].*)?|kaggle\.json|service[-_]?accounts?([-_.].*)?\.json|htpasswd|vault[-_]pass(word)?(\.txt)?",
    re.IGNORECASE,
)
_IN_FOLDERS: Final = frozenset([("kube", "config"), (".docker", "config.json"), (".snowsql", "config")])
# fmt: off
_READ: Final = frozenset([
    "", ".pem", ".key", ".p8", ".asc", ".crt", ".cer", ".txt", ".bak", ".old", ".json", ".toml", ".yaml", ".yml",
    ".ini", ".cfg", ".conf", ".properties",
])
# fmt: on
"""Suffixes of files whose content decides."""
_INSTALLED: Final = frozenset(["site-packages", "dist-packages", "node_modules"])
_MAX_BYTES: Final = 64_000
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----")
_PUBLIC_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(CERTIFICATE|PUBLIC KEY|PARAMETERS)")
_SETTING: Final = re.compile(
    r"(private|secret|secret_?access|client|account)[_-]?key([_-]data)?|client_?secret|refresh_?token|access_?token"
    r"|_auth(token)?|auth_?token|(db_?|admin_?|root_?)?password",
    re.IGNORECASE,
)
_WORDS: Final = ("secret", "token", "password", "_key", "-key", "privatekey", "accountkey", "clientkey", "_auth")
"""One of them is in every such setting; most files have none, and searching is faster than an expression."""
_ASSIGNMENT: Final = re.compile(
    r"""(?<![\w-])["']?([A-Za-z_][\w-]{3,60})["']?[ \t]{0,9}[:=][ \t]{0,9}["']?"""
    r"""(?=[^\s"']{0,99}\d)[^\s"'<>{}\[\]$,/][^\s"'<>{}$,]{11,}"""
)
"""A value that has a digit and is not a placeholder, path or list."""
_IN_CLONE: Final = frozenset(["config", "credentials", "config.worktree"])
"""Addresses of remotes often contain a token."""
_SUFFIXES: Final = frozenset(["", ".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties"])
"""Of files named `secrets` or the like, those that configure something; code and data of that name stay visible."""

BELOW_HOME: Final = (
    *_FOLDERS, *_FILES,
    ".docker", ".oci", ".pip", ".env", ".terraform.d", ".kaggle", ".huggingface", ".openai", ".anthropic", ".1password",
    ".mozilla", ".thunderbird", ".jupyter", ".ipython", ".bash_history", ".zsh_history", ".python_history",
    ".psql_history", ".config/gcloud", ".config/gh", ".config/hub", ".config/git/credentials", ".config/op",
    ".config/rclone", ".config/pip", ".config/openai", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/exploracoder_jupyter", ".config/containers/auth.json",
    ".cargo/credentials", ".cargo/credentials.toml", ".cache/huggingface/token", ".cache/mozilla",
    ".cache/google-chrome", ".cache/chromium", "snap/firefox", "snap/chromium", ".local/share/keyrings",
    ".local/share/kwalletd", ".local/share/jupyter/runtime", ".var/app",
)  # fmt: skip
"""Files and folders in a home folder. Jupyter's runtime folder has the keys of running kernels, its history has the
user's input."""

_WHOLE: Final = """
IPYTHONDIR JUPYTER_CONFIG_DIR GNUPGHOME KUBECONFIG NETRC PGPASSFILE PGSERVICEFILE AWS_CONFIG_FILE
AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG AZURE_CONFIG_DIR
OCI_CONFIG_FILE BOTO_CONFIG RCLONE_CONFIG GH_CONFIG_DIR PIP_CONFIG_FILE HF_TOKEN_PATH NPM_CONFIG_USERCONFIG
DATABRICKS_CONFIG_FILE VAULT_TOKEN_FILE
"""
NAMED_BY_VARIABLES: Final = {
    **dict.fromkeys(_WHOLE.split(), ("",)),
    "DOCKER_CONFIG": ("config.json",),
    "KAGGLE_CONFIG_DIR": ("kaggle.json",),
    "HF_HOME": ("token", "stored_tokens"),
    "CARGO_HOME": ("credentials", "credentials.toml"),
}
"""Variables that name a file or folder with credentials, or (with a file list) a folder that contains such files."""


def is_credential_file(path: Path) -> bool:
    """Whether a file of a project is assumed to contain credentials, judging by its path."""
    if path.name in _IN_CLONE and (path.parent.name == ".git" or ".git/modules/" in path.as_posix()):
        return True
    if path.name in _FILES or path.name.startswith(".env") or any(part in _FOLDERS for part in path.parts[:-1]):
        return True
    if _NAMED.fullmatch(path.name) or (path.parent.name, path.name) in _IN_FOLDERS:
        return True
    return path.suffix in _SUFFIXES and is_credential_stem(path.stem)


def contains_credentials(path: Path) -> bool:
    """Whether a file of a project is assumed to contain credentials, judging by its path and, if it is small and may
    hold some, by its content. Blocks; never waits for a named pipe."""
    if is_credential_file(path):
        return True
    if path.suffix.lower() not in _READ or not _INSTALLED.isdisjoint(path.parts):
        return False
    text = _read_small(path)
    if path.suffix.lower() == ".key":
        return text is not None and (bool(_PRIVATE_KEY.search(text)) or not _PUBLIC_KEY.search(text))
    return text is not None and _holds_secret(text)


def _holds_secret(text: str) -> bool:
    if "PRIVATE KEY" in text and _PRIVATE_KEY.search(text):
        return True
    lower = text.lower()
    settings = (found[1] for found in _ASSIGNMENT.finditer(text)) if any(word in lower for word in _WORDS) else ()
    return any(map(_SETTING.fullmatch, settings)) or redact_patterns(text) != text


def _read_small(path: Path) -> str | None:
    """Return the content of a regular file; `None` if it is large, or cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a device or a named pipe can have effects
            return None
        file = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        is_small = stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BYTES
        return os.read(file, _MAX_BYTES).decode("latin-1") if is_small else None
    except OSError:
        return None
    finally:
        os.close(file)
