"""What killed runs leave is removed, what others are writing is not."""

from __future__ import annotations

from biodyn.result_folder import remove_all_unfinished, remove_unfinished, replacing


def test_only_the_folders_own_leavings_go(tmp_path):
    """Two processes write trials of one subject at the same time, and names may begin alike."""
    with replacing(tmp_path / "walk") as mine, replacing(tmp_path / "walk.fast") as theirs:
        remove_unfinished(tmp_path / "walk.fast.slow")
        assert mine.is_dir()
        assert theirs.is_dir()
        (theirs / "file").touch()
        remove_unfinished(tmp_path / "walk")
        assert not mine.exists()
        assert (theirs / "file").exists()
        mine.mkdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["walk", "walk.fast"]


def test_all_leavings_go_between_runs(tmp_path):
    (tmp_path / "walk").mkdir()
    for name in (".walk.abcd1234.part", ".walk.abcd1234.old", ".gone.x_y.part"):
        (tmp_path / name / "inside").mkdir(parents=True)
    (tmp_path / ".study.csv.part").touch()
    remove_all_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["walk"]
