/* Grids, graphs and distributed graphs: local questions have local answers. */

#include "check.h"

static void grids(void)
{
    int dims[] = {0, 0}, periods[] = {1, 0}, coords[2], back[2], turns[2], rank, from, to, kind;
    MPI_Comm grid, part;
    RULE("MPI-4.1 8.5: a grid of all ranks");
    OK(MPI_Dims_create(ranks, 2, dims));
    EQUAL(dims[0] * dims[1], ranks);
    CHECK(dims[0] >= dims[1]);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    OK(MPI_Topo_test(grid, &kind));
    EQUAL(kind, MPI_CART);
    OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    EQUAL(kind, MPI_UNDEFINED);
    OK(MPI_Cartdim_get(grid, &kind));
    EQUAL(kind, 2);
    OK(MPI_Cart_get(grid, 2, back, turns, coords));
    CHECK(back[0] == dims[0] && back[1] == dims[1] && turns[0] && !turns[1]);
    EQUAL(coords[0] * dims[1] + coords[1], rank_here);
    OK(MPI_Cart_rank(grid, coords, &rank));
    EQUAL(rank, rank_here);
    coords[0] -= dims[0];
    OK(MPI_Cart_rank(grid, coords, &rank));
    EQUAL(rank, rank_here);
    coords[0] += dims[0];
    for (int k = 0; k < ranks; k++) {
        OK(MPI_Cart_coords(grid, k, 2, back));
        OK(MPI_Cart_rank(grid, back, &rank));
        EQUAL(rank, k);
    }
    OK(MPI_Cart_shift(grid, 0, 1, &from, &to));
    EQUAL(to, (rank_here + dims[1]) % ranks);
    EQUAL(from, (rank_here + ranks - dims[1]) % ranks);
    OK(MPI_Cart_shift(grid, 1, 1, &from, &to));
    EQUAL(to, coords[1] + 1 < dims[1] ? rank_here + 1 : MPI_PROC_NULL);
    EQUAL(from, coords[1] > 0 ? rank_here - 1 : MPI_PROC_NULL);

    int keep[] = {0, 1}, size;
    OK(MPI_Cart_sub(grid, keep, &part));
    OK(MPI_Comm_size(part, &size));
    EQUAL(size, dims[1]);
    OK(MPI_Comm_rank(part, &rank));
    EQUAL(rank, coords[1]);
    OK(MPI_Cart_get(part, 1, back, turns, &rank));
    CHECK(back[0] == dims[1] && !turns[0] && rank == coords[1]);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_dup(grid, &part));
    OK(MPI_Topo_test(part, &kind));
    EQUAL(kind, MPI_CART);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&grid));

    RULE("MPI-4.1 8.5: ranks that do not fit get no communicator");
    int one = 1, ring = 0;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &ring, 0, &grid));
    CHECK((grid == MPI_COMM_NULL) == (rank_here != 0));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &one, &ring, &rank));
    EQUAL(rank, rank_here ? MPI_UNDEFINED : 0);
    if (grid != MPI_COMM_NULL)
        OK(MPI_Comm_free(&grid));
}

static void dimensions(void)
{
    static const int cases[][7] = {/* nodes, dimensions, given, result */
                                   {6, 3, 0, 3, 0, 2, 1}, {12, 2, 0, 0, 0, 4, 3}, {7, 2, 0, 0, 0, 7, 1}};
    RULE("MPI-4.1 8.5.2: dimensions as even as can be, in falling order");
    for (int k = 0; k < 3; k++) {
        int dims[3] = {cases[k][2], cases[k][3], cases[k][4]};
        OK(MPI_Dims_create(cases[k][0], cases[k][1], dims));
        EQUAL(dims[0], cases[k][5]);
        EQUAL(dims[cases[k][1] - 1], cases[k][6]);
    }
}

static void graphs(void)
{
    int ends[64], edges[128], got[2], count, nodes, kind;
    MPI_Comm graph;
    RULE("MPI-4.1 8.5.3: a graph that all ranks know");
    for (int k = 0; k < ranks; k++) {
        ends[k] = 2 * (k + 1);
        edges[2 * k] = (k + ranks - 1) % ranks;
        edges[2 * k + 1] = (k + 1) % ranks;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    EQUAL(kind, MPI_GRAPH);
    OK(MPI_Graphdims_get(graph, &nodes, &count));
    CHECK(nodes == ranks && count == 2 * ranks);
    for (int k = 0; k < ranks; k++) {
        OK(MPI_Graph_neighbors_count(graph, k, &count));
        EQUAL(count, 2);
        OK(MPI_Graph_neighbors(graph, k, 2, got));
        CHECK(got[0] == edges[2 * k] && got[1] == edges[2 * k + 1]);
    }
    OK(MPI_Comm_free(&graph));
}

static void distributed_graphs(void)
{
    int in, out, weighted, from[64], to[64], in_weights[64], out_weights[64], kind;
    int source = before(), target = behind(), weight = 10 + rank_here, one = 1;
    MPI_Comm graph;
    RULE("MPI-4.1 8.5.4: each rank knows its own edges");
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, MPI_UNWEIGHTED, 1, &target,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    EQUAL(kind, MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(in == 1 && out == 1 && !weighted);
    OK(MPI_Dist_graph_neighbors(graph, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED));
    CHECK(from[0] == source && to[0] == target);
    OK(MPI_Comm_free(&graph));

    /* Each rank gives the edge that ends at it: nobody gives those that begin at it. */
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &one, &rank_here, &weight, MPI_INFO_NULL,
                             0, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(in == 1 && out == 1 && weighted);
    OK(MPI_Dist_graph_neighbors(graph, 1, from, in_weights, 1, to, out_weights));
    CHECK(from[0] == source && in_weights[0] == weight);
    CHECK(to[0] == target && out_weights[0] == 10 + target);
    OK(MPI_Comm_free(&graph));

    /* Rank 0 gives everything: a star. */
    int degree = ranks, all[64], weights[64];
    for (int k = 0; k < ranks; k++)
        all[k] = k, weights[k] = k;
    int hub = 0, gives = rank_here == 0;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, gives, &hub, &degree, all,
                             gives ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(in == 1 && out == (gives ? ranks : 0) && weighted);
    OK(MPI_Dist_graph_neighbors(graph, 1, from, in_weights, out, to, out_weights));
    CHECK(from[0] == 0 && in_weights[0] == rank_here);
    OK(MPI_Comm_free(&graph));
}

static void no_edges(void)
{
    /* What is given for the weights, and whether the graph then has some. */
    int *const given[] = {NULL, MPI_WEIGHTS_EMPTY, MPI_UNWEIGHTED};
    static const int has[] = {1, 1, 0};
    int in, out, weighted, one = 1;
    MPI_Comm graph;
    RULE("MPI-4.1 8.5.4: MPI_UNWEIGHTED alone says that there are no weights");
    for (int k = 0; k < 3; k++) {
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, given[k], MPI_INFO_NULL, 0,
                                 &graph));
        OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
        CHECK(in == 0 && out == 0);
        EQUAL(weighted, has[k]);
        OK(MPI_Comm_free(&graph));
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, given[k], 0, NULL, given[k],
                                          MPI_INFO_NULL, 0, &graph));
        OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
        CHECK(in == 0 && out == 0);
        EQUAL(weighted, has[k]);
        OK(MPI_Comm_free(&graph));
    }
    if (ours()) {
        /* Who gives no edges goes by the others. */
        int gives = rank_here == 0;
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, gives, &rank_here, &one, &rank_here,
                                 gives ? MPI_UNWEIGHTED : NULL, MPI_INFO_NULL, 0, &graph));
        OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
        CHECK(in == gives && out == gives && !weighted);
        OK(MPI_Comm_free(&graph));
    }
}

static void refused(void)
{
    int dims[] = {2, 0}, zero = 0, number;
    MPI_Comm grid;
    if (!ours())
        return;
    RULE("MPI-4.1 8.5: what is no topology is refused");
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, &number));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(MPI_COMM_WORLD, &number, &number));
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 1, &zero, &zero, 0, &grid));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(3, 2, dims));
    EQUAL(dims[1], 0);
    number = ranks + 1;
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 1, &number, &zero, 0, &grid));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    grids();
    dimensions();
    graphs();
    distributed_graphs();
    no_edges();
    refused();
    return end();
}
