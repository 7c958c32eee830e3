"""Tables on the S3-compatible server that the storage tests start."""

from storage.conftest import s3_options

__all__ = ["s3_options"]
