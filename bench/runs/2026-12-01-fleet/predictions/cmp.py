import json,sys,collections
from decimal import Decimal
a,b=[json.loads(open(f).read(),parse_float=str,parse_int=str) for f in sys.argv[1:3]]
diffs=[];n=collections.Counter()
def walk(x,y,p):
    if type(x)!=type(y): diffs.append((p,x,y));return
    if isinstance(x,dict):
        for k in list(x)+[k for k in y if k not in x]:
            if k not in x or k not in y: diffs.append((p+"."+k,x.get(k,"<absent>"),y.get(k,"<absent>")))
            else: walk(x[k],y[k],p+"."+k)
    elif isinstance(x,list):
        if len(x)!=len(y): diffs.append((p+"#len",len(x),len(y)))
        for i,(u,v) in enumerate(zip(x,y)): walk(u,v,p+"[%d]"%i)
    else:
        n[p.split("[")[0].split(".")[1] if "." in p else p]+=1
        if x!=y: diffs.append((p,x,y))
walk(a,b,"")
print("leaves compared as text:",sum(n.values()),dict(n))
print("differences:",len(diffs))
for d in diffs: print(d[0],"merged=",str(d[1])[:300],"whole=",str(d[2])[:300])
