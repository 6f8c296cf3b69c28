package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// load runs Load on a command line, an environment and a file's text.
func load(t *testing.T, args []string, environment []string, file string) (Settings, error) {
	t.Helper()
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags := AddFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	from := Sources{Flags: flags, Environment: environment}
	if file != "" {
		from.File = filepath.Join(t.TempDir(), "signalbox.yaml")
		if err := os.WriteFile(from.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(from)
}

// plain removes the variable part of an error: the file's directory.
func plain(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if at := strings.Index(line, "signalbox.yaml"); at >= 0 {
			start := strings.LastIndexAny(line[:at], " ") + 1
			line = line[:start] + line[at:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestEveryMistakeIsNamedWithItsRemedy(t *testing.T) {
	dir := t.TempDir()
	pem := filepath.Join(dir, "some.pem")
	if err := os.WriteFile(pem, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	three := []string{"--initial-hosts", "a=10.0.0.1:7421", "--initial-hosts", "b=10.0.0.2:7421", "--initial-hosts",
		"c=10.0.0.3:7421",
		"--insecure=raft"}
	and := func(args ...string) []string { return append(append([]string{}, three...), args...) }
	for name, c := range map[string]struct {
		args []string
		env  []string
		file string
		want string // one mistake, without the leading dash
	}{
		"not a number": {args: []string{"--shards", "many"},
			want: "--shards many: it is not a whole number; give one, such as 4"},
		"too many shards": {args: []string{"--shards", "65"},
			want: "--shards 65: that is no possible number of data shards; give 1 to 64, or nothing for 1"},
		"negative shards": {args: []string{"--shards=-1"},
			want: "--shards -1: that is no possible number of data shards; give 1 to 64, or nothing for 1"},
		"from a variable": {env: []string{"SIGNALBOX_SHARDS=x"},
			want: "SIGNALBOX_SHARDS=x: it is not a whole number; give one, such as 4"},
		"from a file": {file: "\nshards: x\n",
			want: "signalbox.yaml:2: shards: x: it is not a whole number; give one, such as 4"},
		"unknown in the file": {file: "data_dir: x\n",
			want: "signalbox.yaml:1: data_dir: there is no such setting; did you mean data-dir?"},
		"nothing like it": {file: "colour: x\n", want: "signalbox.yaml:1: colour: there is no such setting; " +
			"docs/settings.md and signalbox serve --help list all of them"},
		"twice in the file": {file: "name: a\nname: b\n",
			want: "signalbox.yaml:2: name: it stands there twice; keep one of the two lines"},
		"list for a value": {file: "name: [a]\n",
			want: "signalbox.yaml:1: name: it is a list and should be one value; write it as docs/settings.md shows"},
		"map for a value": {file: "name: {a: b}\n", want: "signalbox.yaml:1: name: it has settings below it and " +
			"should be one value; write it as docs/settings.md shows"},
		"not a map": {file: "- name\n", want: "--config signalbox.yaml: the file is not a list of " +
			"settings; write a setting on each line, such as name: a"},
		"no YAML": {file: "a: b: c\n", want: "--config signalbox.yaml: yaml: mapping values are not " +
			"allowed in this context; give the path of a readable YAML file"},
		"two documents": {file: "name: a\n---\nname: b\n",
			want: "--config signalbox.yaml: more than one document in it; give the path of a readable YAML file"},
		"no such file": {env: []string{"SIGNALBOX_CONFIG=/nowhere.yaml"},
			want: "SIGNALBOX_CONFIG=/nowhere.yaml: no such file or directory; give the path of a readable YAML file"},

		"no data directory": {args: []string{"--data-dir", ""},
			want: "--data-dir : there is no directory; name one, such as ./signalbox-data"},
		"bad name": {args: []string{"--name", "a b"},
			want: "--name a b: it is not a name for a host; use 1 to 256 letters, digits, dots, dashes and " +
				"underscores"},
		"bad cluster": {args: []string{"--cluster-name", strings.Repeat("c", 33)}, want: "--cluster-name " +
			strings.Repeat("c", 33) +
			": it is not a name for a cluster; use 1 to 32 letters, digits, dots, dashes and underscores"},
		"which host": {args: three,
			want: "--name: it is not said which of the hosts this one is; give one of a, b, c"},
		"not among them": {args: and("--name", "d"),
			want: "--name d: it is not in the list of hosts; give one of a, b, c, or add --initial-hosts d=ADDRESS " +
				"on " +
				"every host"},
		"no address": {args: []string{"--initial-hosts", "a"},
			want: `--initial-hosts a: "a" is no host with its address; write each host as NAME=ADDRESS, such as a=10.0.0.1:7421`},
		"bad address": {args: []string{"--initial-hosts", "a=10.0.0.1"},
			want: "--initial-hosts a=10.0.0.1: the address 10.0.0.1 of a is not an address; write HOST:PORT, such as " +
				"127.0.0.1:7420"},
		"same host twice": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"a=127.0.0.1:2"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts a=127.0.0.1:2: a stands there twice; name every " +
				"host once"},
		"same address twice": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"b=127.0.0.1:1"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts b=127.0.0.1:1: a and b have the same address " +
				"127.0.0.1:1; give each " +
				"its own"},
		"loopback among others": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"b=10.0.0.2:1"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts b=10.0.0.2:1: the address of a is reached from its " +
				"own machine only, " +
				"but b is on another; give an address of a that all hosts can reach"},
		"wildcard in the list": {args: []string{"--name", "a", "--initial-hosts", "a=0.0.0.0:1", "--insecure"},
			want: "--initial-hosts a=0.0.0.0:1: the address 0.0.0.0:1 of a stands for all addresses of a machine, " +
				"and nobody " +
				"else can use it; give the address that the other hosts reach it by, and --raft-listen on a"},

		"no port": {args: []string{"--listen", "127.0.0.1"},
			want: "--listen 127.0.0.1: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"IPv6 without": {args: []string{"--listen", "::1:7420"},
			want: "--listen ::1:7420: it is not an address; write an IPv6 address in brackets, such as [::1]:7420"},
		"port 0": {args: []string{"--listen", "127.0.0.1:0"},
			want: "--listen 127.0.0.1:0: it would get another port at every start; give one from 1 to 65535"},
		"port too big": {args: []string{"--admin-listen", "127.0.0.1:70000"},
			want: `--admin-listen 127.0.0.1:70000: it has no possible port; give one from 1 to 65535`},
		"odd host": {args: []string{"--admin-listen", "http://x:80"},
			want: "--admin-listen http://x:80: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"same port": {args: []string{"--admin-listen", "localhost:7420"},
			want: "--admin-listen localhost:7420: it clashes with listen, 127.0.0.1:7420; give each a port of its own"},
		"nowhere to go": {args: []string{"--listen", "off"},
			want: "--listen off: clients can connect nowhere; give --listen ADDRESS or --tls-listen ADDRESS"},
		"no Raft": {args: append(three[:6:6], "--name", "a", "--raft-listen", "off"),
			want: "--raft-listen off: a host that has others in its list cannot do without; give an address, such as " +
				"127.0.0.1:7421"},
		"Raft nowhere": {args: []string{"--raft-advertise", "a.example.com:7421"},
			want: "--raft-advertise a.example.com:7421: no other host can reach it there, because it listens for " +
				"none; " +
				"give --raft-listen ADDRESS as well, or leave --raft-advertise out"},
		"open Raft of one": {args: []string{"--raft-listen", "10.0.0.7:7421"},
			want: "--raft-listen 10.0.0.7:7421: it can be reached from other machines, and whoever reaches it can " +
				"write to the log of the cluster; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at " +
				"least --raft-secret-file, or say --insecure=raft where that network is trusted"},
		"pprof nowhere": {args: []string{"--pprof", "--admin-listen", "off"},
			want: "--pprof=true: there is no listener for it; give --admin-listen ADDRESS as well, or leave " +
				"--pprof out"},
		"bad advertise": {args: []string{"--advertise", "x"},
			want: "--advertise x: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"wildcard to tell": {args: []string{"--listen", ":7420", "--insecure"},
			want: "--advertise: :7420 stands for all addresses of this machine, and nobody else can use it; " +
				"give the address that clients reach it by, such as --advertise signalbox.example.com:7420"},
		"Raft to tell": {args: []string{"--raft-listen", ":7421", "--insecure"},
			want: "--raft-advertise: 0.0.0.0:7421 stands for all addresses of this machine, and nobody else can use " +
				"it; give the address that other hosts would reach it by, such as --raft-advertise " +
				"signalbox.example.com:7421"},
		"two Raft addreses": {args: and("--name", "a", "--raft-advertise", "10.0.0.9:7421"),
			want: "--raft-advertise 10.0.0.9:7421: it is not 10.0.0.1:7421, which the list of hosts has for a; give " +
				"the same address in both, or only the list"},

		"TLS without files": {args: []string{"--tls-listen", "127.0.0.1:7423", "--tls-cert", pem},
			want: "--tls-key: tls-listen needs it; give --tls-key FILE, or leave --tls-listen out"},
		"files without TLS": {args: []string{"--tls-client-ca", pem}, want: "--tls-client-ca " + pem +
			": there is no listener for it; give --tls-listen ADDRESS as well, such as 0.0.0.0:7423"},
		"half of Raft TLS": {args: []string{"--raft-tls-ca", pem, "--raft-tls-cert", pem},
			want: "--raft-tls-key: hosts prove who they are to each other with all three files or with none; give " +
				"--raft-tls-key FILE as well"},
		"missing file": {args: []string{"--token-file", "/nowhere"},
			want: "--token-file /nowhere: no such file or directory; give the path of a file that this process " +
				"may read"},
		"directory": {args: []string{"--token-file", dir}, want: "--token-file " + dir +
			": it is a directory; give the path of a file that this process may read"},

		"bootstrapped and joining": {args: and("--name", "a", "--join", "10.0.0.9:7421"),
			want: "--join 10.0.0.9:7421: a host is bootstrapped with those of its list or joins others, not " +
				"both; leave " +
				"--join out, or the list of hosts"},
		"joining no address": {args: []string{"--join", "box", "--raft-listen", "127.0.0.1:7421"},
			want: "--join box: box is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"joining unreachable": {args: []string{"--join", "10.0.0.9:7421"},
			want: "--raft-listen: the hosts of the cluster must reach this one; give the address that it is to " +
				"listen on for them, such as 10.0.0.4:7421"},
		"joining from loopback": {args: []string{"--join", "10.0.0.9:7421", "--raft-listen", "127.0.0.1:7421"},
			want: "--raft-advertise: 127.0.0.1:7421 is reached from this machine only, and 10.0.0.9:7421 is on " +
				"another; give --raft-advertise ADDRESS, one that all hosts can reach"},
		"joining in the open": {args: []string{"--join", "10.0.0.9:7421", "--raft-listen", "10.0.0.7:7421"},
			want: "--raft-listen 10.0.0.7:7421: it can be reached from other machines, and whoever reaches it can " +
				"write to the log of the cluster; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at " +
				"least --raft-secret-file, or say --insecure=raft where that network is trusted"},
		"a token and no cluster": {args: []string{"--join-token-file", "x"},
			want: "--join-token-file x: it is for a host that joins a cluster; give --join ADDRESS as well, that of " +
				"a " +
				"host of the cluster, or leave it out"},
		"a place and no cluster": {args: []string{"--replace", "b"},
			want: "--replace b: it is for a host that joins a cluster; give --join ADDRESS as well, that of a host " +
				"of the cluster, or leave it out"},
		"the place of no name": {args: []string{"--join", "127.0.0.1:7", "--raft-listen", "127.0.0.1:7421",
			"--replace", "b c"},
			want: "--replace b c: it is not a name of a host; use 1 to 256 letters, digits, dots, dashes and " +
				"underscores"},
		"bad domain": {args: []string{"--failure-domain", "rack"},
			want: `--failure-domain rack: "rack" in a failure domain is not KEY=VALUE; write KEY=VALUE with commas ` +
				"between them, such as dc=a,rack=1"},

		"small data": {args: []string{"--max-data-size", "1"},
			want: "--max-data-size 1: it is out of bounds; give 1KiB to 1MiB"},
		"no size": {args: []string{"--max-data-size", "big"},
			want: "--max-data-size big: it is not a number of bytes; write it like 65536, 64KiB or 2GiB"},
		"no requests": {args: []string{"--max-requests-in-flight", "0"},
			want: "--max-requests-in-flight 0: it is out of bounds; give 1 to 1048576"},
		"no watches": {args: []string{"--max-watches", "0"},
			want: "--max-watches 0: it is out of bounds; give 1 to 1048576"},
		"max-connections": {args: []string{"--max-connections=-3"},
			want: "--max-connections -3: it is out of bounds; give 1 to 10000000"},
		"ping too often": {args: []string{"--ping-interval", "10ms"},
			want: "--ping-interval 10ms: it is out of bounds; give 1s to 10m0s"},
		"no duration": {args: []string{"--ping-interval", "10"},
			want: "--ping-interval 10: it is not a length of time; write it like 20ms, 10s or 2m"},
		"tick too long": {args: []string{"--raft-heartbeat-interval", "2s"},
			want: "--raft-heartbeat-interval 2s: it is out of bounds; give 1ms to 250ms"},
		"broken tick": {args: []string{"--raft-heartbeat-interval", "1500us"},
			want: "--raft-heartbeat-interval 1500us: it is not a whole number of milliseconds; round it, such as 20ms"},
		"snapshots often": {args: []string{"--raft-snapshot-bytes", "1KiB"},
			want: "--raft-snapshot-bytes 1KiB: it is out of bounds; give 64KiB to 64GiB"},
		"snapshots never": {args: []string{"--raft-snapshot-bytes", "65GiB"},
			want: "--raft-snapshot-bytes 65GiB: it is out of bounds; give 64KiB to 64GiB"},
		"log format": {args: []string{"--log-format", "xml"},
			want: "--log-format xml: there is no such choice; give text or json"},
		"log level": {args: []string{"--log-level", "loud"},
			want: "--log-level loud: there is no such level; give debug, info, warn or error"},
		"switch": {args: []string{"--pprof=maybe"},
			want: "--pprof=maybe: it is neither true nor false; give true or false"},
		"unknown part": {args: []string{"--insecure=clients,doors"},
			want: `--insecure=clients,doors: "doors" is no listener of a host; give clients, raft, admin, http or all, with commas between them`},
		"open to clients": {args: []string{"--listen", "10.0.0.1:7420"},
			want: "--listen 10.0.0.1:7420: it can be reached from other machines, and whoever reaches it may do " +
				"everything; use --tls-listen with --tls-cert and --tls-key, and --access-file, or listen on " +
				"127.0.0.1, " +
				"or say --insecure=clients where that network is trusted"},
		"tokens in clear": {args: []string{"--listen", "10.0.0.1:7420", "--token-file", pem},
			want: "--listen 10.0.0.1:7420: it can be reached from other machines, and what clients send there, " +
				"tokens too, can be read and changed on the way; use --tls-listen with --tls-cert and --tls-key, and " +
				"--access-file, or listen on 127.0.0.1, or say --insecure=clients where that network is trusted"},
		"TLS for all": {args: []string{"--tls-listen", "10.0.0.1:7423", "--tls-cert", pem, "--tls-key", pem},
			want: "--tls-listen 10.0.0.1:7423: it can be reached from other machines, and whoever reaches it may do " +
				"everything; give --access-file FILE (signalbox token generate makes tokens) or --tls-client-ca " +
				"FILE, or say " +
				"--insecure=clients where that network is trusted"},
		"open HTTP API": {args: []string{"--http-listen", "10.0.0.1:7424"},
			want: "--http-listen 10.0.0.1:7424: it can be reached from other machines, and whoever reaches it may do " +
				"everything; give --tls-cert, --tls-key and --access-file, or listen on 127.0.0.1, or say " +
				"--insecure=http where that network is trusted"},
		"HTTP API where clients show certificates": {args: []string{"--http-listen", "127.0.0.1:7424",
			"--tls-listen", "127.0.0.1:7423", "--tls-cert", pem, "--tls-key", pem, "--tls-client-ca", pem},
			want: "--http-listen 127.0.0.1:7424: a certificate that a client shows there cannot be shown to hosts " +
				"for it; leave --http-listen or --tls-client-ca out"},
		"authorities for no HTTP API": {args: []string{"--http-listen", "off", "--http-peer-ca", pem},
			want: "--http-peer-ca " + pem + ": there is no listener for it; give --http-listen ADDRESS as well"},
		"open Raft": {args: append(three[:6:6], "--name", "a", "--raft-listen", "10.0.0.7:7421"),
			want: "--raft-listen 10.0.0.7:7421: it can be reached from other machines, and whoever reaches it can " +
				"write to the log of the cluster; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, or at " +
				"least " +
				"--raft-secret-file, or say --insecure=raft where that network is trusted"},
		"open admin": {args: []string{"--admin-listen", ":7422"},
			want: "--admin-listen :7422: it can be reached from other machines, and it tells names of nodes, " +
				"semaphores and sessions to everybody; listen on 127.0.0.1, or say --insecure=admin where that " +
				"network " +
				"is trusted"},
		"open profiler": {args: []string{"--admin-listen", ":7422", "--pprof"},
			want: "--admin-listen :7422: it can be reached from other machines, and it shows everybody the memory of " +
				"the process with what is in it; listen on 127.0.0.1, or say --insecure=admin where that " +
				"network is trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.args, c.env, c.file)
			if err == nil {
				t.Fatal("no mistake was found")
			}
			if got, want := plain(err), "one setting must be changed:\n  - "+c.want; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if _, ok := errors.AsType[Mistakes](err); !ok {
				t.Errorf("the error is a %T, not Mistakes", err)
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, err := load(t,
		[]string{"--shards", "x", "--listen", "nowhere", "--name", "a b"},
		[]string{"SIGNALBOX_LOG_LEVEL=loud", "SIGNALBOX_INITIAL_HOSTS=b"},
		"ping-interval: soon\nlisten_tls: x\n")
	want := `7 settings must be changed:
  - signalbox.yaml:2: listen_tls: there is no such setting; docs/settings.md and signalbox serve --help list all of them
  - --name a b: it is not a name for a host; use 1 to 256 letters, digits, dots, dashes and underscores
  - SIGNALBOX_INITIAL_HOSTS=b: "b" is no host with its address; write each host as NAME=ADDRESS, such as a=10.0.0.1:7421
  - --shards x: it is not a whole number; give one, such as 4
  - --listen nowhere: it is not an address; write HOST:PORT, such as 127.0.0.1:7420
  - signalbox.yaml:1: ping-interval: soon: it is not a length of time; write it like 20ms, 10s or 2m
  - SIGNALBOX_LOG_LEVEL=loud: there is no such level; give debug, info, warn or error`
	if err == nil || plain(err) != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
