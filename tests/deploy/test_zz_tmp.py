import subprocess, time, shutil
from test_deploy_stack import stack, Stack, DAY
from test_deploy_proxy import configured, _hashed, free_port
from deployment import DEPLOY
def test_look(stack, deployed, secrets, tmp_path):
    for n in ("code","webserver","daemon"): stack.start(n)
    stack.wait("loc", stack.loaded)
    run = stack.launch(DAY)
    known = shutil.copytree(secrets, tmp_path/"known")
    (known/"htpasswd").chmod(0o600); (known/"htpasswd").write_text(f"ada:{_hashed('pw')}\n")
    port=free_port()
    cmd=configured(tmp_path/"ngx", known, DEPLOY/"compose"/"proxy-place.conf", int(stack.places["3000"]), port)
    conf=tmp_path/"ngx"/"nginx.conf"; conf.write_text(conf.read_text().replace("access_log off","access_log /tmp/w/hc/access.log"))
    p=subprocess.Popen(cmd)
    stack.wait("run", lambda: stack.runs()[run] in ("SUCCESS","FAILURE"))
    b=f"https://127.0.0.1:{port}"
    subprocess.run(["/tmp/w/venv/bin/python","/tmp/w/hc/shot.py",f"https://ada:pw@127.0.0.1:{port}/server_info",f"{b}/runs/{run}","/tmp/w/hc/run.png",f"{b}/deployment/daemons","/tmp/w/hc/daemons.png"],check=False,timeout=200)
    p.terminate()
