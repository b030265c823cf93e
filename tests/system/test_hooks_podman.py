def test_try(yard, podman, origin):
    import javaclass, time
    open(yard.inside+"/Get.class","wb").write(javaclass.get())
    t=time.time()
    done = podman.run("sh", "-c", "ip a; python3 /yard/served.py word 80", network="podman", options=["-p","8080:80", "-d"], annotations={"sallyport.credentials": "web","sallyport.mode":"uplink"})
    print(done.stdout, done.stderr, time.time()-t)
    t=time.time()
    done = podman.run("java","-cp","/yard","Get","https://api.test/java")
    print(done.stdout, done.stderr, time.time()-t)
    print(yard.attached())
    print(podman.netns.run("sh","-c","ip a; ip r; iptables-save; true").stdout)
    print(yard.stack.log("helper")[-2000:])
    assert 0
