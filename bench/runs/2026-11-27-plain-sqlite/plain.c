#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <string.h>
static sqlite3*db; static unsigned long long s;
static unsigned long long rnd(unsigned long long n){s^=s<<13;s^=s>>7;s^=s<<17;return s%n+1;}
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
static sqlite3_stmt*prep(const char*q){sqlite3_stmt*p;if(sqlite3_prepare_v2(db,q,-1,&p,0)){fprintf(stderr,"%s\n",sqlite3_errmsg(db));exit(1);}return p;}
static void run(sqlite3_stmt*p){int r;while((r=sqlite3_step(p))==SQLITE_ROW){for(int i=0;i<sqlite3_column_count(p);i++)sqlite3_column_text(p,i);}if(r!=SQLITE_DONE){fprintf(stderr,"%s\n",sqlite3_errmsg(db));exit(1);}sqlite3_reset(p);}
int main(int c,char**v){ /* db cachekib warm secs seed kind */
 sqlite3_open(v[1],&db);char b[200];snprintf(b,200,"PRAGMA cache_size=-%s;PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;",v[2]);sqlite3_exec(db,b,0,0,0);
 double warm=atof(v[3]),secs=atof(v[4]);s=atoll(v[5])*2654435761ULL+88172645463325252ULL;int kind=atoi(v[6]);
 sqlite3_stmt*q[8];
 if(kind==0){q[0]=prep("SELECT InvoiceId, Total FROM Invoice WHERE CustomerId = ?1");q[1]=prep("SELECT l.TrackId, l.Quantity, t.Name FROM InvoiceLine AS l JOIN Track AS t ON t.TrackId = l.TrackId WHERE l.InvoiceId = ?1");q[3]=prep("INSERT INTO Invoice(CustomerId, InvoiceDate, Total) VALUES (?1, '2026-11-27', 3.96)");q[4]=prep("INSERT INTO InvoiceLine(InvoiceId, TrackId, UnitPrice, Quantity) VALUES (last_insert_rowid(), ?1, 0.99, 1)");q[5]=prep("UPDATE Invoice SET Total = Total + 1 WHERE InvoiceId = ?1");}
 else {q[0]=prep("UPDATE t SET n = n + 1 WHERE id = ?1");q[1]=prep("SELECT v FROM t WHERE id = ?1");}
 q[2]=prep("BEGIN");q[6]=prep("COMMIT");
 double t0=now(),t1=t0+warm,end=t1+secs,t;long n=0;double begin=0;
 while((t=now())<end){ if(t>=t1&&begin==0){begin=t;n=0;}
  if(kind==0){long cu=rnd(53100),tr=rnd(3503),in=rnd(370800);
   sqlite3_bind_int64(q[0],1,cu);run(q[0]);sqlite3_bind_int64(q[1],1,in);run(q[1]);run(q[2]);
   sqlite3_bind_int64(q[3],1,cu);run(q[3]);sqlite3_bind_int64(q[4],1,tr);run(q[4]);sqlite3_bind_int64(q[5],1,in);run(q[5]);run(q[6]);}
  else {long id=rnd(800000);sqlite3_bind_int64(q[0],1,id);sqlite3_bind_int64(q[1],1,id);run(q[2]);run(q[0]);run(q[1]);run(q[6]);}
  n++;}
 printf("%.1f\n",n/(now()-begin));return 0;}
