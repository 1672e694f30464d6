"""The flat tree: post-order arrays against walks on the parent pointers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import ancestors, parent_lists

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy


def build(tree: tuple[list[str], list[int]]) -> Hierarchy:
    return Hierarchy.from_parents(*tree, kind="test")


@given(parent_lists())
def test_children_come_before_parents_and_subtrees_are_runs(nodes):
    tree = build(nodes)
    assert tree.parent[tree.root] == -1
    for node in range(len(tree)):
        below = [other for other in range(len(tree)) if node in ancestors(tree.parent, other)]
        assert below == list(range(node - tree.size[node] + 1, node + 1))


@given(parent_lists())
def test_edges_survive(nodes):
    label, parent = nodes
    tree = build(nodes)
    given_edges = {(label[i], label[up]) for i, up in enumerate(parent) if up >= 0}
    assert {(tree.label[i], tree.label[up]) for i, up in enumerate(tree.parent) if up >= 0} == given_edges


@given(parent_lists(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(nodes, random):
    label, parent = nodes
    order = list(range(len(label)))
    random.shuffle(order)
    position = {old: new for new, old in enumerate(order)}
    again = build(([label[i] for i in order], [-1 if parent[i] < 0 else position[parent[i]] for i in order]))
    tree = build(nodes)
    assert np.array_equal(tree.parent, again.parent)
    assert np.array_equal(tree.label, again.label)


@given(parent_lists())
def test_tile_ranges_counts_depth_and_members(nodes):
    tree = build(nodes)
    leaves = [node for node in range(len(tree)) if node not in set(tree.parent.tolist())]
    assert tree.tiles.tolist() == leaves
    assert tree.n_leaves == len(leaves)
    for node in range(len(tree)):
        ranks = [rank for rank, leaf in enumerate(leaves) if node in ancestors(tree.parent, leaf)]
        assert ranks == list(range(tree.tile_start[node], tree.tile_end[node]))
        assert tree.n_tiles[node] == len(ranks)
        assert tree.level[node] == len(ancestors(tree.parent, node)) - 1
        assert tree.members(node) == [tree.label[leaves[rank]] for rank in ranks]


@given(parent_lists())
def test_ancestor_test(nodes):
    tree = build(nodes)
    upper, lower = np.meshgrid(np.arange(len(tree)), np.arange(len(tree)))
    expected = [[a in ancestors(tree.parent, b) for a in range(len(tree))] for b in range(len(tree))]
    assert tree.is_ancestor(upper, lower).tolist() == expected


@given(parent_lists())
def test_children_lists(nodes):
    tree = build(nodes)
    for node in range(len(tree)):
        kids = tree.children[tree.child_start[node] : tree.child_start[node + 1]]
        assert kids.tolist() == [i for i in range(len(tree)) if tree.parent[i] == node]


@given(parent_lists())
def test_common_ancestor_of_two_tiles_is_a_range_maximum(nodes):
    tree = build(nodes)
    for a in range(tree.n_leaves):
        for b in range(a + 1, tree.n_leaves):
            above_b = ancestors(tree.parent, tree.tiles[b])
            expected = next(node for node in ancestors(tree.parent, tree.tiles[a]) if node in above_b)
            assert tree.next_lca[a:b].max() == expected


@given(parent_lists(), st.integers(-1, 12))
def test_a_uniform_cut_is_the_partition_at_a_depth(nodes, level):
    tree = build(nodes)
    cut = tree.cut_at_level(level)
    assert tree.is_partition(cut)
    for node in cut:
        assert tree.level[node] == max(level, 0) or (tree.level[node] < level and tree.size[node] == 1)


@given(parent_lists(largest=8), st.data())
def test_partition_check_and_owners_agree_with_counting(nodes, data):
    tree = build(nodes)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(tree) - 1), max_size=5)), dtype=np.int64)
    above = [[n for n in chosen if n in ancestors(tree.parent, leaf)] for leaf in tree.tiles]
    assert tree.is_partition(chosen) == all(len(found) == 1 for found in above)
    if all(len(found) <= 1 for found in above):
        assert tree.owners(chosen).tolist() == [found[0] if found else -1 for found in above]


def test_ranks_of_labels_and_strangers_counted_not_listed():
    tree = build((["root", "b", "a"], [-1, 0, 0]))
    assert tree.ranks(["b", "a", "b"]).tolist() == [1, 0, 1]
    with pytest.raises(OdanonError, match="2 tiles of the matrix are missing") as caught:
        tree.ranks(["a", "secret-1", "secret-2"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("label", "parent", "message"),
    [
        (["a", "a"], [-1, 0], "names a node twice"),
        (["a", "b"], [-1, -1], "2 roots"),
        (["a", "b"], [1, 0], "cycle"),
        (["root", "a", "b"], [-1, 2, 1], "cycle"),
    ],
)
def test_trees_that_are_none_are_refused(label, parent, message):
    with pytest.raises(OdanonError, match=message):
        build((label, parent))


def test_a_tree_too_deep_for_its_levels_is_refused():
    n = 40_000
    with pytest.raises(OdanonError, match="levels deep"):
        build(([str(i) for i in range(n)], [i - 1 for i in range(n)]))


def test_tiles_are_placed_by_label_in_any_order():
    tree = build((["root", "b", "a"], [-1, 0, 0])).placed(
        np.array(["b", "a"], object), np.array([1, 2]), np.array([3, 4])
    )
    assert tree.lat.tolist() == [2, 1]
    assert tree.lon.tolist() == [4, 3]


def test_centroids_are_all_known_or_none():
    tree = build((["root", "b", "a"], [-1, 0, 0])).placed(
        np.array(["b", "a"], object), np.array([1, np.nan]), np.array([3, 4])
    )
    assert tree.lat is None
