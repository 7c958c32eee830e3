"""The errors of polynya, grouped by what a caller does next.

    PolynyaError
    ├── NotFoundError        the named thing is not there: check the name, or create it
    ├── AlreadyExistsError   the name is taken: choose another, or accept what is there
    ├── InvalidInputError    the request is wrong: change it
    ├── UnsupportedError     right, but not done here: use another way
    ├── ConflictError        another writer was first: look at the table and decide again
    ├── CommitUnknownError   the commit may or may not have happened: look it up before repeating it
    ├── CorruptFileError     a stored file is not what its format says: repair or restore it
    └── StorageError         the store failed: try again, or mend the store

A message names the object, what was expected and what was found, and, where there is one, the way out.
"""


class PolynyaError(Exception):
    """The root of every error that polynya raises on purpose."""


class NotFoundError(PolynyaError, LookupError):
    """The named thing does not exist."""


class AlreadyExistsError(PolynyaError):
    """The name is taken."""


class InvalidInputError(PolynyaError, ValueError):
    """The request cannot be carried out as it stands."""


class UnsupportedError(PolynyaError):
    """The request is valid in Paimon or Iceberg, and polynya does not do it."""


class ConflictError(PolynyaError):
    """Another writer changed what this change builds on."""


class CommitUnknownError(PolynyaError):
    """The outcome of a commit could not be determined; nothing was deleted."""


class CorruptFileError(PolynyaError):
    """A stored file does not hold what its format says."""


class StorageError(PolynyaError):
    """The store refused or failed an operation."""
