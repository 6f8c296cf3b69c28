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
			want: "--shards many: not a whole number; give a number such as 4"},
		"too many shards": {args: []string{"--shards", "65"},
			want: "--shards 65: the data shard count is out of range; give 1 to 64, or omit the setting for 1"},
		"negative shards": {args: []string{"--shards=-1"},
			want: "--shards -1: the data shard count is out of range; give 1 to 64, or omit the setting for 1"},
		"from a variable": {env: []string{"SIGNALBOX_SHARDS=x"},
			want: "SIGNALBOX_SHARDS=x: not a whole number; give a number such as 4"},
		"from a file": {file: "\nshards: x\n",
			want: "signalbox.yaml:2: shards: x: not a whole number; give a number such as 4"},
		"unknown in the file": {file: "data_dir: x\n",
			want: "signalbox.yaml:1: data_dir: unknown setting; did you mean data-dir?"},
		"nothing like it": {file: "colour: x\n", want: "signalbox.yaml:1: colour: unknown setting; see " +
			"docs/settings.md or signalbox serve --help for all settings"},
		"twice in the file": {file: "name: a\nname: b\n",
			want: "signalbox.yaml:2: name: the setting is given twice; remove a duplicate line"},
		"list for a value": {file: "name: [a]\n",
			want: "signalbox.yaml:1: name: expected one value, not a list; see docs/settings.md for the format"},
		"map for a value": {file: "name: {a: b}\n", want: "signalbox.yaml:1: name: expected one value, not " +
			"nested settings; see docs/settings.md for the format"},
		"not a map": {file: "- name\n", want: "--config signalbox.yaml: the file is not a list of settings; " +
			"write one setting per line, such as name: a"},
		"no YAML": {file: "a: b: c\n", want: "--config signalbox.yaml: yaml: mapping values are not " +
			"allowed in this context; give the path to a readable YAML file"},
		"two documents": {file: "name: a\n---\nname: b\n",
			want: "--config signalbox.yaml: more than one document; give the path to a readable YAML file"},
		"no such file": {env: []string{"SIGNALBOX_CONFIG=/nowhere.yaml"},
			want: "SIGNALBOX_CONFIG=/nowhere.yaml: no such file or directory; give the path to a readable " +
				"YAML file"},

		"no data directory": {args: []string{"--data-dir", ""},
			want: "--data-dir : no directory is given; give one, such as ./signalbox-data"},
		"bad name": {args: []string{"--name", "a b"},
			want: "--name a b: invalid host name; use 1 to 256 letters, digits, dots, dashes and underscores"},
		"bad cluster": {args: []string{"--cluster-name", strings.Repeat("c", 33)}, want: "--cluster-name " +
			strings.Repeat("c", 33) +
			": invalid cluster name; use 1 to 32 letters, digits, dots, dashes and underscores"},
		"which host": {args: three,
			want: "--name: the host name is missing; choose a listed host: a, b, c"},
		"not among them": {args: and("--name", "d"),
			want: "--name d: it is not in the host list; choose a listed host (a, b, c), or add --initial-hosts " +
				"d=ADDRESS on every host"},
		"no address": {args: []string{"--initial-hosts", "a"},
			want: `--initial-hosts a: "a" is not a host with an address; write hosts as NAME=ADDRESS, such as a=10.0.0.1:7421`},
		"bad address": {args: []string{"--initial-hosts", "a=10.0.0.1"},
			want: "--initial-hosts a=10.0.0.1: the address 10.0.0.1 of a is not an address; write HOST:PORT, such as " +
				"127.0.0.1:7420"},
		"same host twice": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"a=127.0.0.1:2"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts a=127.0.0.1:2: a is listed twice; list every " +
				"host once"},
		"same address twice": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"b=127.0.0.1:1"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts b=127.0.0.1:1: a and b share the address " +
				"127.0.0.1:1; give each host its own address"},
		"loopback among others": {args: []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts",
			"b=10.0.0.2:1"},
			want: "--initial-hosts a=127.0.0.1:1 --initial-hosts b=10.0.0.2:1: the address of a is reachable " +
				"from the local machine only, but b is on a different machine; give host a an address " +
				"reachable from all hosts"},
		"wildcard in the list": {args: []string{"--name", "a", "--initial-hosts", "a=0.0.0.0:1", "--insecure"},
			want: "--initial-hosts a=0.0.0.0:1: the address 0.0.0.0:1 of a is a wildcard address, which other " +
				"hosts cannot use; give an address that other hosts can reach, and --raft-listen with a"},

		"no port": {args: []string{"--listen", "127.0.0.1"},
			want: "--listen 127.0.0.1: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"IPv6 without": {args: []string{"--listen", "::1:7420"},
			want: "--listen ::1:7420: it is not an address; write an IPv6 address in brackets, such as [::1]:7420"},
		"port 0": {args: []string{"--listen", "127.0.0.1:0"},
			want: "--listen 127.0.0.1:0: it would get a new port at every start; give a port from 1 to 65535"},
		"port too big": {args: []string{"--admin-listen", "127.0.0.1:70000"},
			want: `--admin-listen 127.0.0.1:70000: it has an invalid port; give a port from 1 to 65535`},
		"odd host": {args: []string{"--admin-listen", "http://x:80"},
			want: "--admin-listen http://x:80: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"same port": {args: []string{"--admin-listen", "localhost:7420"},
			want: "--admin-listen localhost:7420: it conflicts with listen, 127.0.0.1:7420; give each listener " +
				"its own port"},
		"nowhere to go": {args: []string{"--listen", "off"},
			want: "--listen off: there is no listener for clients; give --listen ADDRESS or --tls-listen ADDRESS"},
		"no Raft": {args: append(three[:6:6], "--name", "a", "--raft-listen", "off"),
			want: "--raft-listen off: required for a host with other initial hosts; give an address, such as " +
				"127.0.0.1:7421"},
		"Raft nowhere": {args: []string{"--raft-advertise", "a.example.com:7421"},
			want: "--raft-advertise a.example.com:7421: there is no listener for other hosts; give --raft-listen " +
				"ADDRESS too, or omit --raft-advertise"},
		"open Raft of one": {args: []string{"--raft-listen", "10.0.0.7:7421"},
			want: "--raft-listen 10.0.0.7:7421: it is reachable from other machines, and everyone who can " +
				"connect can write to the cluster's log; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, " +
				"or at least --raft-secret-file, or allow it with --insecure=raft if the network is trusted"},
		"pprof nowhere": {args: []string{"--pprof", "--admin-listen", "off"},
			want: "--pprof=true: the listener is off; give --admin-listen ADDRESS too, or omit --pprof"},
		"bad advertise": {args: []string{"--advertise", "x"},
			want: "--advertise x: it is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"wildcard to tell": {args: []string{"--listen", ":7420", "--insecure"},
			want: "--advertise: :7420 is a wildcard address, which other machines cannot use; give an address " +
				"that clients can reach, such as --advertise signalbox.example.com:7420"},
		"Raft to tell": {args: []string{"--raft-listen", ":7421", "--insecure"},
			want: "--raft-advertise: 0.0.0.0:7421 is a wildcard address, which other machines cannot use; give " +
				"an address that other hosts can reach, such as --raft-advertise signalbox.example.com:7421"},
		"two Raft addreses": {args: and("--name", "a", "--raft-advertise", "10.0.0.9:7421"),
			want: "--raft-advertise 10.0.0.9:7421: it is not 10.0.0.1:7421, the address in the list of hosts for " +
				"a; give the same address in both, or only in the list"},

		"TLS without files": {args: []string{"--tls-listen", "127.0.0.1:7423", "--tls-cert", pem},
			want: "--tls-key: required by tls-listen; give --tls-key FILE, or omit --tls-listen"},
		"files without TLS": {args: []string{"--tls-client-ca", pem}, want: "--tls-client-ca " + pem +
			": the listener is off; give --tls-listen ADDRESS too, such as 0.0.0.0:7423"},
		"half of Raft TLS": {args: []string{"--raft-tls-ca", pem, "--raft-tls-cert", pem},
			want: "--raft-tls-key: TLS between hosts needs all three files; give --raft-tls-key FILE too"},
		"missing file": {args: []string{"--token-file", "/nowhere"},
			want: "--token-file /nowhere: no such file or directory; give the path of a readable file"},
		"directory": {args: []string{"--token-file", dir}, want: "--token-file " + dir +
			": is a directory; give the path of a readable file"},

		"bootstrapped and joining": {args: and("--name", "a", "--join", "10.0.0.9:7421"),
			want: "--join 10.0.0.9:7421: a host either bootstraps with its initial hosts or joins a cluster, not " +
				"both; omit --join, or the list of hosts"},
		"joining no address": {args: []string{"--join", "box", "--raft-listen", "127.0.0.1:7421"},
			want: "--join box: box is not an address; write HOST:PORT, such as 127.0.0.1:7420"},
		"joining unreachable": {args: []string{"--join", "10.0.0.9:7421"},
			want: "--raft-listen: the cluster hosts must be able to reach this host; give the address to listen " +
				"on for other hosts, such as 10.0.0.4:7421"},
		"joining from loopback": {args: []string{"--join", "10.0.0.9:7421", "--raft-listen", "127.0.0.1:7421"},
			want: "--raft-advertise: 127.0.0.1:7421 is reachable from this machine only, but 10.0.0.9:7421 is on " +
				"another machine; give --raft-advertise with an address that all hosts can reach"},
		"joining in the open": {args: []string{"--join", "10.0.0.9:7421", "--raft-listen", "10.0.0.7:7421"},
			want: "--raft-listen 10.0.0.7:7421: it is reachable from other machines, and everyone who can " +
				"connect can write to the cluster's log; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, " +
				"or at least --raft-secret-file, or allow it with --insecure=raft if the network is trusted"},
		"a token and no cluster": {args: []string{"--join-token-file", "x"},
			want: "--join-token-file x: the setting is for a host that joins a cluster; give --join with the " +
				"address of a cluster host too, or omit the setting"},
		"a place and no cluster": {args: []string{"--replace", "b"},
			want: "--replace b: the setting is for a host that joins a cluster; give --join with the address of " +
				"a cluster host too, or omit the setting"},
		"the place of no name": {args: []string{"--join", "127.0.0.1:7", "--raft-listen", "127.0.0.1:7421",
			"--replace", "b c"},
			want: "--replace b c: invalid host name; use 1 to 256 letters, digits, dots, dashes and underscores"},
		"bad domain": {args: []string{"--failure-domain", "rack"},
			want: `--failure-domain rack: "rack" in a failure domain is not KEY=VALUE; write KEY=VALUE pairs separated by commas, such as dc=a,rack=1`},

		"small data": {args: []string{"--max-data-size", "1"},
			want: "--max-data-size 1: it is out of range; give 1KiB to 1MiB"},
		"no size": {args: []string{"--max-data-size", "big"},
			want: "--max-data-size big: not a size; give a size such as 65536, 64KiB or 2GiB"},
		"no requests": {args: []string{"--max-requests-in-flight", "0"},
			want: "--max-requests-in-flight 0: it is out of range; give 1 to 1048576"},
		"no watches": {args: []string{"--max-watches", "0"},
			want: "--max-watches 0: it is out of range; give 1 to 1048576"},
		"max-connections": {args: []string{"--max-connections=-3"},
			want: "--max-connections -3: it is out of range; give 1 to 10000000"},
		"ping too often": {args: []string{"--ping-interval", "10ms"},
			want: "--ping-interval 10ms: it is out of range; give 1s to 10m0s"},
		"no duration": {args: []string{"--ping-interval", "10"},
			want: "--ping-interval 10: not a duration; give a duration such as 20ms, 10s or 2m"},
		"tick too long": {args: []string{"--raft-heartbeat-interval", "2s"},
			want: "--raft-heartbeat-interval 2s: it is out of range; give 1ms to 250ms"},
		"broken tick": {args: []string{"--raft-heartbeat-interval", "1500us"},
			want: "--raft-heartbeat-interval 1500us: not a whole number of milliseconds; use a value such as 20ms"},
		"snapshots often": {args: []string{"--raft-snapshot-bytes", "1KiB"},
			want: "--raft-snapshot-bytes 1KiB: it is out of range; give 64KiB to 64GiB"},
		"snapshots never": {args: []string{"--raft-snapshot-bytes", "65GiB"},
			want: "--raft-snapshot-bytes 65GiB: it is out of range; give 64KiB to 64GiB"},
		"log format": {args: []string{"--log-format", "xml"},
			want: "--log-format xml: unknown value; give text or json"},
		"log level": {args: []string{"--log-level", "loud"},
			want: "--log-level loud: unknown log level; give debug, info, warn or error"},
		"switch": {args: []string{"--pprof=maybe"},
			want: "--pprof=maybe: neither true nor false; give true or false"},
		"unknown part": {args: []string{"--insecure=clients,doors"},
			want: `--insecure=clients,doors: unknown listener "doors"; give clients, raft, admin, http or all, separated by commas`},
		"open to clients": {args: []string{"--listen", "10.0.0.1:7420"},
			want: "--listen 10.0.0.1:7420: it is reachable from other machines, and everyone who can connect may " +
				"do everything; use --tls-listen with --tls-cert and --tls-key, and --access-file, or listen on " +
				"127.0.0.1, or allow it with --insecure=clients if the network is trusted"},
		"tokens in clear": {args: []string{"--listen", "10.0.0.1:7420", "--token-file", pem},
			want: "--listen 10.0.0.1:7420: it is reachable from other machines, and requests and tokens can be " +
				"read and changed in transit; use --tls-listen with --tls-cert and --tls-key, and --access-file, " +
				"or listen on 127.0.0.1, or allow it with --insecure=clients if the network is trusted"},
		"TLS for all": {args: []string{"--tls-listen", "10.0.0.1:7423", "--tls-cert", pem, "--tls-key", pem},
			want: "--tls-listen 10.0.0.1:7423: it is reachable from other machines, and everyone who can connect " +
				"may do everything; give --access-file FILE (signalbox token generate makes tokens) or " +
				"--tls-client-ca FILE, or allow it with --insecure=clients if the network is trusted"},
		"open HTTP API": {args: []string{"--http-listen", "10.0.0.1:7424"},
			want: "--http-listen 10.0.0.1:7424: it is reachable from other machines, and everyone who can " +
				"connect may do everything; give --tls-cert, --tls-key and --access-file, or listen on " +
				"127.0.0.1, or allow it with --insecure=http if the network is trusted"},
		"HTTP API where clients show certificates": {args: []string{"--http-listen", "127.0.0.1:7424",
			"--tls-listen", "127.0.0.1:7423", "--tls-cert", pem, "--tls-key", pem, "--tls-client-ca", pem},
			want: "--http-listen 127.0.0.1:7424: the HTTP API cannot forward client certificates to other hosts; " +
				"omit --http-listen or --tls-client-ca"},
		"authorities for no HTTP API": {args: []string{"--http-listen", "off", "--http-peer-ca", pem},
			want: "--http-peer-ca " + pem + ": the listener is off; give --http-listen ADDRESS too"},
		"open Raft": {args: append(three[:6:6], "--name", "a", "--raft-listen", "10.0.0.7:7421"),
			want: "--raft-listen 10.0.0.7:7421: it is reachable from other machines, and everyone who can " +
				"connect can write to the cluster's log; give --raft-tls-cert, --raft-tls-key and --raft-tls-ca, " +
				"or at least --raft-secret-file, or allow it with --insecure=raft if the network is trusted"},
		"open admin": {args: []string{"--admin-listen", ":7422"},
			want: "--admin-listen :7422: it is reachable from other machines, and node, semaphore and session " +
				"names are visible to everybody; listen on 127.0.0.1, or allow it with --insecure=admin if the " +
				"network is trusted"},
		"open profiler": {args: []string{"--admin-listen", ":7422", "--pprof"},
			want: "--admin-listen :7422: it is reachable from other machines, and the process memory and its " +
				"content are visible to everybody; listen on 127.0.0.1, or allow it with --insecure=admin if the " +
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
  - signalbox.yaml:2: listen_tls: unknown setting; see docs/settings.md or signalbox serve --help for all settings
  - --name a b: invalid host name; use 1 to 256 letters, digits, dots, dashes and underscores
  - SIGNALBOX_INITIAL_HOSTS=b: "b" is not a host with an address; write hosts as NAME=ADDRESS, such as a=10.0.0.1:7421
  - --shards x: not a whole number; give a number such as 4
  - --listen nowhere: it is not an address; write HOST:PORT, such as 127.0.0.1:7420
  - signalbox.yaml:1: ping-interval: soon: not a duration; give a duration such as 20ms, 10s or 2m
  - SIGNALBOX_LOG_LEVEL=loud: unknown log level; give debug, info, warn or error`
	if err == nil || plain(err) != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
