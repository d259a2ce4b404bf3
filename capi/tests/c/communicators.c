/* Groups, communicators and intercommunicators: how they are made of each other and compare. */

#include "check.h"

static int comparison(MPI_Comm one, MPI_Comm other)
{
    int result = -1;
    OK(MPI_Comm_compare(one, other, &result));
    return result;
}

static int comparison_of_groups(MPI_Group one, MPI_Group other)
{
    int result = -1;
    OK(MPI_Group_compare(one, other, &result));
    return result;
}

static int rank_in(MPI_Comm comm)
{
    int rank = -1;
    OK(MPI_Comm_rank(comm, &rank));
    return rank;
}

static int size_of(MPI_Comm comm)
{
    int size = -1;
    OK(MPI_Comm_size(comm, &size));
    return size;
}

static void groups(void)
{
    MPI_Group world, one, other, none;
    int size, rank, list[] = {ranks - 1, 0}, back[3];
    int range[1][3] = {{ranks - 1, 0, -1}}, steps[1][3] = {{0, ranks - 1, 2}};
    RULE("MPI-4.1 7.3: groups are sets in an order");
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(world, &size));
    EQUAL(size, ranks);
    OK(MPI_Group_rank(world, &rank));
    EQUAL(rank, rank_here);
    OK(MPI_Group_range_incl(world, 1, range, &one));
    OK(MPI_Group_rank(one, &rank));
    EQUAL(rank, ranks - 1 - rank_here);
    EQUAL(comparison_of_groups(world, one), ranks == 1 ? MPI_IDENT : MPI_SIMILAR);
    OK(MPI_Group_free(&one));
    CHECK(one == MPI_GROUP_NULL);

    OK(MPI_Group_incl(world, ranks == 1 ? 1 : 2, list, &one));
    OK(MPI_Group_rank(one, &rank));
    EQUAL(rank, rank_here == ranks - 1 ? 0 : rank_here == 0 ? 1 : MPI_UNDEFINED);
    OK(MPI_Group_excl(world, ranks == 1 ? 1 : 2, list, &other));
    OK(MPI_Group_size(other, &size));
    EQUAL(size, ranks <= 2 ? 0 : ranks - 2);
    OK(MPI_Group_intersection(one, other, &none));
    EQUAL(comparison_of_groups(none, MPI_GROUP_EMPTY), MPI_IDENT);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_union(one, other, &none));
    EQUAL(comparison_of_groups(none, world), ranks == 1 ? MPI_IDENT : MPI_SIMILAR);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_difference(world, one, &none));
    EQUAL(comparison_of_groups(none, other), MPI_IDENT);
    OK(MPI_Group_free(&none));
    OK(MPI_Group_free(&other));

    OK(MPI_Group_range_excl(world, 1, steps, &other));
    OK(MPI_Group_rank(other, &rank));
    EQUAL(rank, rank_here % 2 ? rank_here / 2 : MPI_UNDEFINED);
    OK(MPI_Group_free(&other));

    int asked[] = {0, MPI_PROC_NULL, ranks - 1};
    OK(MPI_Group_translate_ranks(world, 3, asked, one, back));
    EQUAL(back[0], ranks == 1 ? 0 : 1);
    EQUAL(back[1], MPI_PROC_NULL);
    EQUAL(back[2], 0);
    OK(MPI_Group_translate_ranks(world, 1, asked, MPI_GROUP_EMPTY, back));
    EQUAL(back[0], MPI_UNDEFINED);
    OK(MPI_Group_free(&one));
    OK(MPI_Group_free(&world));
}

static void wrong_groups(void)
{
    MPI_Group world, group = MPI_GROUP_NULL;
    int beyond[] = {ranks}, twice[] = {0, 0}, still[1][3] = {{0, 0, 0}}, size;
    RULE("MPI-4.1 7.3: what is no group or no rank of it is refused");
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 1, beyond, &group));
    FAILS(MPI_ERR_RANK, MPI_Group_excl(world, 1, beyond, &group));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &size));
    FAILS(MPI_ERR_GROUP, MPI_Group_free(&group));
    CHECK(group == MPI_GROUP_NULL);
    OK(MPI_Group_free(&world));
    if (ours()) {
        MPI_Group old;
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 2, twice, &group));
        FAILS(MPI_ERR_ARG, MPI_Group_incl(world, -1, twice, &group));
        FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, still, &group));
        OK(MPI_Group_free(&world));
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        old = world;
        OK(MPI_Group_free(&world));
        FAILS(MPI_ERR_GROUP, MPI_Group_size(old, &size));
        FAILS(MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)old, &size));
        FAILS(MPI_ERR_COMM, MPI_Comm_free(&(MPI_Comm){MPI_COMM_SELF}));
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static void made_of_the_world(void)
{
    MPI_Comm comm, old;
    MPI_Group world, some;
    RULE("MPI-4.1 7.4: communicators made of others");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    EQUAL(comparison(comm, MPI_COMM_WORLD), MPI_CONGRUENT);
    EQUAL(comparison(comm, comm), MPI_IDENT);
    old = comm;
    OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL && old != MPI_COMM_NULL);

    OK(MPI_Comm_split(MPI_COMM_WORLD, rank_here % 2, -rank_here, &comm));
    EQUAL(size_of(comm), rank_here % 2 ? ranks / 2 : (ranks + 1) / 2);
    EQUAL(rank_in(comm), (ranks - 1 - rank_here) / 2);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank_here ? MPI_UNDEFINED : 3, 0, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank_here != 0));
    if (comm != MPI_COMM_NULL)
        OK(MPI_Comm_disconnect(&comm));

    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int first[1][3] = {{0, ranks / 2, 1}};
    OK(MPI_Group_range_incl(world, 1, first, &some));
    OK(MPI_Comm_create(MPI_COMM_WORLD, some, &comm));
    CHECK((comm == MPI_COMM_NULL) == (rank_here > ranks / 2));
    if (comm != MPI_COMM_NULL) {
        EQUAL(rank_in(comm), rank_here);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &comm));
        EQUAL(size_of(comm), ranks / 2 + 1);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&world));

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    EQUAL(size_of(comm), ranks);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
}

static void duplicated_meanwhile(void)
{
    MPI_Comm comm, copy = MPI_COMM_NULL;
    MPI_Request request;
    int word = rank_here, flag = 0;
    RULE("MPI-4.1 7.4.2: MPI_Comm_idup waits for nobody");
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank_here == 0) {
        /* The others begin when they have heard of it. */
        OK(MPI_Comm_idup(comm, &copy, &request));
        for (int k = 1; k < ranks; k++)
            OK(MPI_Send(&word, 1, MPI_INT, k, 5, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Comm_idup(comm, &copy, &request));
    }
    while (!flag && MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        ;
    EQUAL(flag, 1);
    CHECK(request == MPI_REQUEST_NULL);
    EQUAL(comparison(copy, comm), MPI_CONGRUENT);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_idup(comm, &copy, &request));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(size_of(copy), ranks);
    OK(MPI_Barrier(copy));
    OK(MPI_Comm_free(&copy));
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME], other[3 * MPI_MAX_OBJECT_NAME];
    int length = -1, *part;
    MPI_Comm comm;
    RULE("MPI-4.1 7.8: names");
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    EQUAL(length, 14);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_name(comm, name, &length));
    EQUAL(length, 0);
    memset(other, 'n', sizeof other);
    other[sizeof other - 1] = 0;
    OK(MPI_Comm_set_name(comm, ours() ? other : "n"));
    OK(MPI_Comm_get_name(comm, name, &length));
    EQUAL(length, ours() ? MPI_MAX_OBJECT_NAME - 1 : 1);
    EQUAL(strlen(name), length);
    OK(MPI_Comm_free(&comm));
    MPI_Win win = window(1, &part);
    OK(MPI_Win_get_name(win, name, &length));
    EQUAL(length, 0);
    OK(MPI_Win_set_name(win, "halo"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    if (ours()) {
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        int code = MPI_Win_unlock(0, win);
        CHECK(strstr(sentence(code), "halo") != NULL);
    }
    OK(MPI_Win_free(&win));
}

/* Two sides: the even ranks, and the odd ones in falling order. */
static void intercommunicators(void)
{
    MPI_Comm local, inter, copy, merged;
    int odd = rank_here % 2, flag, size;
    RULE("MPI-4.1 7.6: two groups that talk to each other");
    OK(MPI_Comm_split(MPI_COMM_WORLD, odd, odd ? -rank_here : rank_here, &local));
    int other_leader = odd ? 0 : ranks - 1 - ranks % 2;
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, other_leader, 12, &inter));
    OK(MPI_Comm_test_inter(inter, &flag));
    EQUAL(flag, 1);
    OK(MPI_Comm_test_inter(local, &flag));
    EQUAL(flag, 0);
    EQUAL(size_of(inter), size_of(local));
    EQUAL(rank_in(inter), rank_in(local));
    OK(MPI_Comm_remote_size(inter, &size));
    EQUAL(size, ranks - size_of(local));
    MPI_Group remote, world;
    int first = 0, translated;
    OK(MPI_Comm_remote_group(inter, &remote));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_translate_ranks(remote, 1, &first, world, &translated));
    EQUAL(translated, other_leader);
    OK(MPI_Group_free(&remote));
    OK(MPI_Group_free(&world));
    OK(MPI_Barrier(inter));

    OK(MPI_Comm_dup(inter, &copy));
    EQUAL(comparison(inter, copy), MPI_CONGRUENT);
    EQUAL(comparison(inter, local), MPI_UNEQUAL);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Intercomm_merge(copy, odd, &merged));
    EQUAL(size_of(merged), ranks);
    EQUAL(rank_in(merged), odd ? (ranks + 1) / 2 + rank_in(local) : rank_in(local));
    OK(MPI_Barrier(merged));
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_split(copy, rank_in(local) == 0 ? 0 : MPI_UNDEFINED, 0, &inter));
    CHECK((inter == MPI_COMM_NULL) == (rank_in(local) != 0));
    if (inter != MPI_COMM_NULL) {
        OK(MPI_Comm_remote_size(inter, &size));
        EQUAL(size, 1);
        OK(MPI_Comm_free(&inter));
    }
    MPI_Group own, leader;
    OK(MPI_Comm_group(copy, &own));
    OK(MPI_Group_incl(own, 1, &first, &leader));
    OK(MPI_Comm_create(copy, leader, &inter));
    CHECK((inter == MPI_COMM_NULL) == (rank_in(local) != 0));
    if (inter != MPI_COMM_NULL) {
        OK(MPI_Comm_remote_size(inter, &size));
        EQUAL(size, 1);
        OK(MPI_Barrier(inter));
        OK(MPI_Comm_free(&inter));
    }
    OK(MPI_Group_free(&leader));
    OK(MPI_Group_free(&own));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&local));
}

/* Two sides that no communicator is between yet. */
static void intercommunicators_of_groups(void)
{
    MPI_Comm inter;
    MPI_Group world, sides[2];
    int half = ranks / 2, high = rank_here >= half, size;
    int low_ranks[1][3] = {{0, half - 1, 1}}, high_ranks[1][3] = {{half, ranks - 1, 1}};
    RULE("MPI-4.1 7.6.2: intercommunicators of two groups");
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_range_incl(world, 1, low_ranks, &sides[0]));
    OK(MPI_Group_range_incl(world, 1, high_ranks, &sides[1]));
    int last = (high ? half : ranks - half) - 1;
    OK(MPI_Intercomm_create_from_groups(sides[high], high ? ranks - half - 1 : 0, sides[!high],
                                        high ? 0 : last, "halves", MPI_INFO_NULL,
                                        MPI_ERRORS_ARE_FATAL, &inter));
    OK(MPI_Comm_remote_size(inter, &size));
    EQUAL(size, high ? half : ranks - half);
    OK(MPI_Barrier(inter));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Group_free(&sides[0]));
    OK(MPI_Group_free(&sides[1]));
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    groups();
    wrong_groups();
    made_of_the_world();
    duplicated_meanwhile();
    names();
    if (ranks > 1) {
        intercommunicators();
        intercommunicators_of_groups();
    }
    return end();
}
