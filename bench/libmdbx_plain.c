/* YCSB C or A on libmdbx in a loop: what somebody writes for a comparison.
 *
 *   libmdbx_plain KEYS FILE c|a SECONDS WARM_SECONDS SEED GROUP
 *
 * KEYS is a database that Octavo loaded with YCSB, and FILE a copy of it that nobody has read. The keys of
 * the first are read into memory; then this process enters the control group of the file GROUP
 * (cgroup.procs) and opens the second. Keys are drawn uniformly. A read finds a record and looks at all
 * characters of its fields; an update reads it, replaces its first field, writes it and commits durably.
 * Prints JSON: operations, seconds, seconds of a processor, major faults, bytes read.
 */
#include "mdbx.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static unsigned long long state;

static unsigned long long next(void) /* xorshift64* (Vigna 2016) */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(int code, const char *what)
{
    if (code != MDBX_SUCCESS) {
        fprintf(stderr, "%s: %s\n", what, mdbx_strerror(code));
        exit(1);
    }
}

static MDBX_env *open_env(const char *file, MDBX_txn **reader, MDBX_dbi *tree)
{
    MDBX_env *env;
    check(mdbx_env_create(&env), "create");
    check(mdbx_env_set_option(env, MDBX_opt_max_db, 4), "option");
    check(mdbx_env_open(env, file, MDBX_NOSUBDIR | MDBX_NORDAHEAD, 0644), "open");
    check(mdbx_txn_begin(env, NULL, MDBX_TXN_RDONLY, reader), "begin");
    check(mdbx_dbi_open(*reader, "usertable", MDBX_DB_DEFAULTS, tree), "tree");
    return env;
}

int main(int count, char **arguments)
{
    MDBX_env *env;
    MDBX_txn *reader, *writer;
    MDBX_dbi tree;
    MDBX_cursor *cursor;
    MDBX_val key, value, *keys = NULL;
    size_t rows = 0, room = 0;
    static char copy[1 << 16];
    unsigned long long operations = 0, sum = 0;
    struct rusage before = {0}, after;
    if (count < 8)
        return 2;
    int updates = arguments[3][0] == 'a';
    double seconds = atof(arguments[4]), warm = atof(arguments[5]), begun, measured = 0;
    state = strtoull(arguments[6], NULL, 10) * 2 + 1;
    env = open_env(arguments[1], &reader, &tree);
    check(mdbx_cursor_open(reader, tree, &cursor), "cursor");
    while (mdbx_cursor_get(cursor, &key, &value, MDBX_NEXT) == MDBX_SUCCESS) {
        if (rows == room)
            keys = realloc(keys, (room = room ? 2 * room : 1024) * sizeof *keys);
        keys[rows].iov_len = key.iov_len;
        keys[rows].iov_base = malloc(key.iov_len);
        memcpy(keys[rows++].iov_base, key.iov_base, key.iov_len);
    }
    mdbx_cursor_close(cursor);
    mdbx_txn_abort(reader);
    mdbx_env_close_ex(env, true);
    FILE *group = fopen(arguments[7], "w");
    if (!group || fputs("0", group) < 0 || fclose(group))
        return 3;
    env = open_env(arguments[2], &reader, &tree);
    check(mdbx_txn_reset(reader), "reset");
    begun = now();
    for (;;) {
        if (operations % 64 == 0 && !measured && now() - begun >= warm) {
            getrusage(RUSAGE_SELF, &before);
            measured = now();
            operations = 0;
        } else if (operations % 64 == 0 && measured && now() - measured >= seconds) {
            break;
        }
        const MDBX_val *wanted = &keys[next() % rows];
        int is_update = updates && next() >> 63;
        if (is_update) {
            check(mdbx_txn_begin(env, NULL, 0, &writer), "begin");
            check(mdbx_get(writer, tree, wanted, &value), "get");
            size_t length = value.iov_len;
            memcpy(copy, value.iov_base, length);
            for (int at = 0; at < 100; at++)
                copy[2 + at] = 'a' + next() % 26; /* behind the field's kind and length */
            MDBX_val changed = {copy, length};
            check(mdbx_put(writer, tree, wanted, &changed, 0), "put");
            check(mdbx_txn_commit(writer), "commit");
        } else {
            check(mdbx_txn_renew(reader), "renew");
            check(mdbx_get(reader, tree, wanted, &value), "get");
            for (size_t at = 0; at < value.iov_len; at++)
                sum += ((unsigned char *)value.iov_base)[at];
            check(mdbx_txn_reset(reader), "reset");
        }
        operations++;
    }
    double elapsed = now() - measured;
    getrusage(RUSAGE_SELF, &after);
#define PASSED(time) (after.time.tv_sec - before.time.tv_sec + (after.time.tv_usec - before.time.tv_usec) / 1e6)
    printf("{\"operations\": %llu, \"seconds\": %.6f, \"cpu_s\": %.6f, \"faults\": %ld, \"read\": %ld, "
           "\"sum\": %llu}\n",
           operations, elapsed, PASSED(ru_utime) + PASSED(ru_stime), after.ru_majflt - before.ru_majflt,
           (after.ru_inblock - before.ru_inblock) * 512, sum);
    mdbx_txn_abort(reader);
    mdbx_env_close_ex(env, true);
    return 0;
}
