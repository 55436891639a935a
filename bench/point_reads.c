/* Point reads of SQLite in a minimal loop, to compare `octavo bench` with.
 *
 *   cc -O2 point_reads.c libsqlite3.a -lm -lpthread -ldl
 *   ./a.out DATABASE ycsb-c|pgbench-select-only SECONDS CACHE_KIB [begin] [thread]
 *
 * The same statement, pragmas and open flags as Octavo, through SQLite's own VFS; keys are
 * drawn evenly from those that exist, which are read before. Each row's columns are asked
 * for by type, text and length. With `begin` each statement is between BEGIN and COMMIT; with `thread` there is a second
 * thread, which sleeps: the kernel and the C library do some work for threads only.
 * Prints transactions, processor time of the loop in seconds, and a checksum.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(int code, sqlite3 *db) {
    if (code != SQLITE_OK && code != SQLITE_DONE) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), db);
    return statement;
}

static void control(sqlite3 *db, sqlite3_stmt *statement) {
    check(sqlite3_step(statement), db);
    check(sqlite3_reset(statement), db);
}

static void *sleep_on(void *nothing) {
    while (1)
        pause();
    return nothing;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "DATABASE WORKLOAD SECONDS CACHE_KIB [begin] [thread]\n");
        return 2;
    }
    int ycsb = !strcmp(argv[2], "ycsb-c");
    double seconds = atof(argv[3]);
    int begin = 0;
    for (int i = 5; i < argc; i++) {
        begin |= !strcmp(argv[i], "begin");
        pthread_t thread;
        if (!strcmp(argv[i], "thread") && pthread_create(&thread, NULL, sleep_on, NULL))
            return 1;
    }
    sqlite3 *db;
    check(sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL), db);
    char pragmas[300];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF; "
             "PRAGMA locking_mode=NORMAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-%s; "
             "PRAGMA journal_mode=WAL;",
             argv[4]);
    check(sqlite3_busy_timeout(db, 30000), db);
    check(sqlite3_exec(db, pragmas, NULL, NULL, NULL), db);

    /* The keys. */
    sqlite3_stmt *all = prepare(db, ycsb ? "SELECT ycsb_key FROM usertable"
                                         : "SELECT aid FROM pgbench_accounts");
    size_t count = 0, room = 0;
    struct key { char text[24]; int length; int64_t number; } *keys = NULL;
    while (sqlite3_step(all) == SQLITE_ROW) {
        if (count == room)
            keys = realloc(keys, (room = room ? 2 * room : 1024) * sizeof *keys);
        struct key *key = &keys[count++];
        key->number = sqlite3_column_int64(all, 0);
        key->length = snprintf(key->text, sizeof key->text, "%s", sqlite3_column_text(all, 0));
    }
    sqlite3_finalize(all);

    sqlite3_stmt *begin_read = prepare(db, "BEGIN"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *read = prepare(
        db, ycsb ? "SELECT field0, field1, field2, field3, field4, field5, field6, field7, "
                   "field8, field9 FROM usertable WHERE ycsb_key = ?1"
                 : "SELECT abalance FROM pgbench_accounts WHERE aid = ?1");
    int columns = sqlite3_column_count(read);
    uint64_t state = 1, checksum = 0, transactions = 0;
    double used = 0, wall = 0;
    /* The first fifth fills the buffer. */
    for (int measured = 0; measured < 2; measured++) {
        double cpu = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC);
        double end = start + (measured ? seconds : seconds / 5);
        transactions = 0;
        while (1) {
            if (transactions % 1024 == 0 && now(CLOCK_MONOTONIC) >= end)
                break;
            state = state * 6364136223846793005u + 1442695040888963407u;
            struct key *key = &keys[(state >> 33) * count >> 31];
            if (begin)
                control(db, begin_read);
            check(ycsb ? sqlite3_bind_text(read, 1, key->text, key->length, SQLITE_STATIC)
                       : sqlite3_bind_int64(read, 1, key->number),
                  db);
            int code;
            while ((code = sqlite3_step(read)) == SQLITE_ROW)
                for (int column = 0; column < columns; column++)
                    if (sqlite3_column_type(read, column) == SQLITE_TEXT) {
                        checksum += sqlite3_column_text(read, column)[0];
                        checksum += sqlite3_column_bytes(read, column);
                    } else
                        checksum += sqlite3_column_int64(read, column);
            check(code, db);
            check(sqlite3_reset(read), db);
            if (begin)
                control(db, commit);
            transactions++;
        }
        used = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall = now(CLOCK_MONOTONIC) - start;
    }
    printf("{\"transactions\": %llu, \"cpu_s\": %.6f, \"wall_s\": %.6f, \"checksum\": %llu}\n",
           (unsigned long long)transactions, used, wall, (unsigned long long)checksum);
    return 0;
}
