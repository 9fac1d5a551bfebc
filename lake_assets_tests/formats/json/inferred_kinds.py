"""Types that values of JSON are inferred to have, for properties."""

import pyarrow as pa
from hypothesis import strategies as st

KINDS = st.recursive(
    st.sampled_from([pa.int64(), pa.float64(), pa.bool_(), pa.string()]),
    lambda inner: st.one_of(
        inner.map(lambda kind: pa.list_(pa.field("item", kind))),
        st.lists(
            st.tuples(st.sampled_from(["x", "y", "z", "X"]), inner),
            min_size=1,
            max_size=3,
            unique_by=lambda field: field[0].lower(),
        ).map(pa.struct),
    ),
    max_leaves=6,
)
