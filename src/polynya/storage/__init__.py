"""Named blobs on local disks, in memory and in object stores."""

from polynya.storage.local import LocalStorage
from polynya.storage.memory import MemoryStorage, open_memory
from polynya.storage.names import BAD_FILE_NAME
from polynya.storage.protocol import Blob, Page, Storage
from polynya.storage.urls import open_storage

__all__ = [
    "BAD_FILE_NAME",
    "Blob",
    "LocalStorage",
    "MemoryStorage",
    "Page",
    "Storage",
    "open_memory",
    "open_storage",
]
