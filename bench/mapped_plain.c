/* YCSB C or A on libmdbx, or with -DLMDB on LMDB, in a loop: what somebody writes for a comparison.
 *
 *   mapped_plain KEYS FILE c|a SECONDS WARM_SECONDS SEED GROUP
 *
 * KEYS is a database that Octavo loaded with YCSB, and FILE a copy of it that nobody has read. The keys of
 * the first are read into memory; then this process enters the control group of the file GROUP
 * (cgroup.procs) and opens the second. Keys are drawn uniformly. A read finds a record and looks at all
 * characters of its fields; an update reads it, replaces its first field, writes it and commits durably.
 * Prints JSON: operations, seconds, seconds of a processor, major faults, bytes read.
 */
#ifdef LMDB
#include "lmdb.h"
#define CALL(name) mdb_##name
#define NAME(name) MDB_##name
#define READ_ONLY MDB_RDONLY
#define CLOSE(env) mdb_env_close(env)
#define RESET(reader) mdb_txn_reset(reader)
#define LENGTH mv_size
#define BYTES mv_data
#else
#include "mdbx.h"
#define CALL(name) mdbx_##name
#define NAME(name) MDBX_##name
#define READ_ONLY MDBX_TXN_RDONLY
#define CLOSE(env) mdbx_env_close_ex(env, true)
#define RESET(reader) check(mdbx_txn_reset(reader), "reset")
#define LENGTH iov_len
#define BYTES iov_base
#endif
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
    if (code != NAME(SUCCESS)) {
        fprintf(stderr, "%s: %s\n", what, CALL(strerror)(code));
        exit(1);
    }
}

static NAME(env) *open_env(const char *file, NAME(txn) **reader, NAME(dbi) *tree)
{
    NAME(env) *env;
    check(CALL(env_create)(&env), "create");
#ifdef LMDB
    check(mdb_env_set_maxdbs(env, 4), "databases");
    check(mdb_env_set_mapsize(env, (size_t)1 << 40), "map");
#else
    check(mdbx_env_set_option(env, MDBX_opt_max_db, 4), "option");
#endif
    check(CALL(env_open)(env, file, NAME(NOSUBDIR) | NAME(NORDAHEAD), 0644), "open");
    check(CALL(txn_begin)(env, NULL, READ_ONLY, reader), "begin");
    check(CALL(dbi_open)(*reader, "usertable", 0, tree), "tree");
    /* Until then the tree is that transaction's own (lmdb.h, mdb_dbi_open). */
    check(CALL(txn_commit)(*reader), "commit");
    check(CALL(txn_begin)(env, NULL, READ_ONLY, reader), "begin");
    return env;
}

int main(int count, char **arguments)
{
    NAME(env) *env;
    NAME(txn) *reader, *writer;
    NAME(dbi) tree;
    NAME(cursor) *cursor;
    NAME(val) key, value, *keys = NULL;
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
    check(CALL(cursor_open)(reader, tree, &cursor), "cursor");
    while (CALL(cursor_get)(cursor, &key, &value, NAME(NEXT)) == NAME(SUCCESS)) {
        if (rows == room)
            keys = realloc(keys, (room = room ? 2 * room : 1024) * sizeof *keys);
        keys[rows].LENGTH = key.LENGTH;
        keys[rows].BYTES = malloc(key.LENGTH);
        memcpy(keys[rows++].BYTES, key.BYTES, key.LENGTH);
    }
    CALL(cursor_close)(cursor);
    CALL(txn_abort)(reader);
    CLOSE(env);
    FILE *group = fopen(arguments[7], "w");
    if (!group || fputs("0", group) < 0 || fclose(group))
        return 3;
    env = open_env(arguments[2], &reader, &tree);
    RESET(reader);
    begun = now();
    for (;;) {
        if (operations % 64 == 0 && !measured && now() - begun >= warm) {
            getrusage(RUSAGE_SELF, &before);
            measured = now();
            operations = 0;
        } else if (operations % 64 == 0 && measured && now() - measured >= seconds) {
            break;
        }
        NAME(val) *wanted = &keys[next() % rows];
        int is_update = updates && next() >> 63;
        if (is_update) {
            check(CALL(txn_begin)(env, NULL, 0, &writer), "begin");
            check(CALL(get)(writer, tree, wanted, &value), "get");
            size_t length = value.LENGTH;
            memcpy(copy, value.BYTES, length);
            for (int at = 0; at < 100; at++)
                copy[2 + at] = 'a' + next() % 26; /* behind the field's kind and length */
            NAME(val) changed = {.BYTES = copy, .LENGTH = length};
            check(CALL(put)(writer, tree, wanted, &changed, 0), "put");
            check(CALL(txn_commit)(writer), "commit");
        } else {
            check(CALL(txn_renew)(reader), "renew");
            check(CALL(get)(reader, tree, wanted, &value), "get");
            for (size_t at = 0; at < value.LENGTH; at++)
                sum += ((unsigned char *)value.BYTES)[at];
            RESET(reader);
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
    CALL(txn_abort)(reader);
    CLOSE(env);
    return 0;
}
