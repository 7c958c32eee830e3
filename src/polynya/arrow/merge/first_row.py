"""first-row: the oldest record of a key wins."""

import numpy as np
import pyarrow as pa

from polynya.arrow.merge.events import first_of
from polynya.arrow.merge.order import Groups, Ints, is_retract
from polynya.errors import InvalidInputError
from polynya.model.merge_spec import MergeSpec


def winners(rows: pa.Table, groups: Groups, spec: MergeSpec) -> Ints:
    """The positions of the rows that stay, in key order; a retract among several records is refused or ignored."""
    oldest = groups.order[groups.starts]
    retract = is_retract(rows)
    if not retract.any():
        return oldest
    several = np.repeat(groups.several, groups.sizes)
    add = ~retract[groups.order]
    if not spec.ignore_delete and (several & ~add).any():
        raise InvalidInputError(
            "merge-engine 'first-row' does not take -U and -D records; set 'ignore-delete' to skip them"
        )
    group = np.repeat(np.arange(len(groups.starts)), groups.sizes)
    first_add = first_of(group, len(groups.starts), add)
    chosen = np.where(first_add >= 0, groups.order[first_add], oldest)
    return chosen[(first_add >= 0) | (~groups.several)]
