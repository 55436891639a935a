import os, mmap, random, time, sys
F=sys.argv[1]
if not os.path.exists(F):
    with open(F,'wb') as f:
        b=os.urandom(1<<20)
        for i in range(512): f.write(b)
        os.fsync(f.fileno())
N=700
def drop(fd): os.posix_fadvise(fd,0,0,os.POSIX_FADV_DONTNEED)
for page in (1024,2048,4096,16384,65536):
    n=N if page<=4096 else max(50,N*8192//page)
    res={}
    for rep in range(5):
        for kind in ('direct','cold','warm'):
            offs=sorted(random.sample(range((512<<20)//page),n))
            m=mmap.mmap(-1,page); m.write(os.urandom(page))
            if kind=='direct':
                fd=os.open(F,os.O_RDWR|os.O_DIRECT)
            else:
                fd=os.open(F,os.O_RDWR); drop(fd)
                if kind=='warm':
                    os.posix_fadvise(fd,0,0,os.POSIX_FADV_RANDOM)
                    for o in offs: os.pread(fd,page,o*page)
            t=time.perf_counter()
            for o in offs: os.pwrite(fd,m,o*page)
            w=time.perf_counter()
            os.fdatasync(fd)
            s=time.perf_counter()
            if kind!='direct': drop(fd)
            d=time.perf_counter()
            res.setdefault(kind,[]).append((w-t,s-w,d-s))
            os.close(fd)
    for k,v in res.items():
        v.sort(key=lambda x:x[0]+x[1]); a=v[2]
        print(page,n,k,*['%.1f ms'%(x*1e3) for x in a])
