#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
static double now(int c){struct timespec t;clock_gettime(c,&t);return t.tv_sec+t.tv_nsec*1e-9;}
static int cmp(const void*a,const void*b){double x=*(double*)a-*(double*)b;return x<0?-1:x>0;}
int main(int n,char**v){int direct=atoi(v[2]);double secs=atof(v[3]);int fd=open(v[1],O_RDWR|O_CREAT|(direct?O_DIRECT:0),0600);if(fd<0){perror("open");return 1;}
 char*b;posix_memalign((void**)&b,4096,1<<20);for(int i=0;i<64;i++)if(pwrite(fd,b,1<<20,(long)i<<20)!=1<<20)return 2;fsync(fd);
 static double t[2000000];long k=0;unsigned long s=1;double end=now(1)+secs,c=now(2);
 while(now(1)<end&&k<2000000){s=s*6364136223846793005u+1442695040888963407u;double a=now(1);if(pread(fd,b,4096,(long)(s>>33)%16384*4096)!=4096)return 3;t[k++]=now(1)-a;}
 c=now(2)-c;qsort(t,k,8,cmp);printf("n %ld p50 %.2f p10 %.2f p90 %.2f us, client cpu %.2f us\n",k,t[k/2]*1e6,t[k/10]*1e6,t[k*9/10]*1e6,c/k*1e6);}
