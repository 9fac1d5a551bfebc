import pytest

from lake_assets.runtime.varints import varint, zigzag


@pytest.mark.parametrize(
    ("number", "written"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02")]
)
def test_a_number_has_seven_bits_a_byte(number, written):
    assert varint(number).hex() == written


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (-(2**63), "ff" * 9 + "01")],
)
def test_a_number_with_its_sign_is_small_near_0(number, written):
    assert zigzag(number).hex() == written
