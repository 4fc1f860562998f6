/* An MPI's part: the cells as a program of that library would write them. */
#include "plan.h"

#include <mpi.h>

#define US MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE

static int size;

static long agree(long count) {
    MPI_Bcast(&count, 1, MPI_LONG, 0, US);
    return count;
}

static void ping_pong(char *buffer, int bytes) {
    if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, US);
    MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 1, US, ANY);
    if (rank == 1) MPI_Send(buffer, bytes, MPI_BYTE, 0, 1, US);
}

static void exchange(char *buffer, int bytes) {
    MPI_Request both[2];
    MPI_Irecv(buffer, bytes, MPI_BYTE, 1 - rank, 1, US, &both[0]);
    MPI_Isend(buffer + bytes, bytes, MPI_BYTE, 1 - rank, 1, US, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

/* From the reader, at the end of a row or a stream. */
static double answer(double value) {
    if (rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 3, US);
    else MPI_Recv(&value, 1, MPI_DOUBLE, 1, 3, US, ANY);
    return value;
}

static void row(char *buffer, int bytes, int waits) {
    static MPI_Request all[ROW];
    for (int at = 0; at < ROW; at++) {
        if (waits && rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 2, US);
        else if (waits) MPI_Recv(buffer, bytes, MPI_BYTE, 0, 2, US, ANY);
        else if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 2, US, &all[at]);
        else MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 2, US, &all[at]);
    }
    if (!waits) MPI_Waitall(ROW, all, MPI_STATUSES_IGNORE);
    answer(0);
}

/* Long messages in a row, several under way at a time. */
static void stream(char *buffers, int bytes, long count, int depth) {
    MPI_Request under_way[64];
    for (long at = 0; at < count; at++) {
        int slot = at % depth;
        char *buffer = buffers + (size_t)slot * bytes;
        if (at >= depth) MPI_Wait(&under_way[slot], ANY);
        if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 2, US, &under_way[slot]);
        else MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 2, US, &under_way[slot]);
    }
    MPI_Waitall(count < depth ? count : depth, under_way, MPI_STATUSES_IGNORE);
}

static int is(const char *kind, const char *name) { return strcmp(kind, name) == 0; }

/* Roots change from call to call, so that none runs ahead of the others. */
static int collective(const char *kind, char *mine, char *all, int bytes, int root) {
    if (is(kind, "barrier")) MPI_Barrier(US);
    else if (is(kind, "broadcast")) MPI_Bcast(mine, bytes, MPI_BYTE, root, US);
    else if (is(kind, "gather")) MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, US);
    else if (is(kind, "allgather")) MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, US);
    else if (is(kind, "alltoall")) MPI_Alltoall(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, US);
    else if (is(kind, "allreduce")) MPI_Allreduce(mine, all, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, US);
    else return 0;
    return 1;
}

static double cell(const char *kind, size_t bytes, long count, double *values) {
    int depth = is(kind, "stream") ? bytes < (1 << 19) ? (1 << 20) / bytes : 2 : 0;
    int parts = depth ? depth : is(kind, "alltoall") ? size : 2;
    char *mine = memory(bytes * parts), *all = memory(depth ? 0 : bytes * size);
    /* Sums of ones, and of what is no number elsewhere. */
    if (is(kind, "allreduce")) memset(mine, 0, bytes);
    MPI_Barrier(US);
    double began = now(), before = processor(), took, unit = count;
    if (is(kind, "pingpong")) {
        for (long at = 0; at < count; at++) ping_pong(mine, bytes);
        unit = 2.0 * count;
    } else if (is(kind, "exchange")) {
        for (long at = 0; at < count; at++) exchange(mine, bytes);
    } else if (is(kind, "rate") || is(kind, "posted")) {
        for (long at = 0; at < count; at++) row(mine, bytes, is(kind, "rate"));
        unit = (double)ROW * count;
    } else if (depth) {
        stream(mine, bytes, count, depth);
        double own = processor() - before, theirs = answer(own);
        values[1] = (own + theirs) / count;
        values[2] = count * (double)bytes;
    } else {
        for (long at = 0; at < count; at++)
            if (!collective(kind, mine, all, bytes, at % size)) fail("no such cell");
    }
    double own_took = now() - began;
    MPI_Allreduce(&own_took, &took, 1, MPI_DOUBLE, MPI_MAX, US);
    values[0] = took / unit;
    free(mine);
    free(all);
    return took;
}

int main(int argc, char **argv) {
    const char *own_rank = getenv("OMPI_COMM_WORLD_RANK");
    if (argc < 2) return 2;
    begin(own_rank ? own_rank : getenv("PMI_RANK"), argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(US, &rank);
    MPI_Comm_size(US, &size);
    run(argv + 2);
    MPI_Finalize();
    return 0;
}
