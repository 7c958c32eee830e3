"""deduplicate: the newest record of a key wins, whatever its kind."""

import numpy as np
import pyarrow as pa

from polynya.arrow.merge.events import last_of
from polynya.arrow.merge.order import Groups, Ints, is_retract
from polynya.model.merge_spec import MergeSpec


def winners(rows: pa.Table, groups: Groups, spec: MergeSpec) -> Ints:
    """The positions of the rows that stay, in key order.

    With ignore-delete, retracts lose to any add; a key of several retracts and nothing else has no winner.
    """
    newest = groups.order[groups.ends - 1]
    if not spec.ignore_delete:
        return newest
    add = ~is_retract(rows)[groups.order]
    group = np.repeat(np.arange(len(groups.starts)), groups.sizes)
    last_add = last_of(group, len(groups.starts), add)
    chosen = np.where(last_add >= 0, groups.order[last_add], newest)
    return chosen[(last_add >= 0) | (~groups.several)]
