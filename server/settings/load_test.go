package settings

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func mustLoad(t *testing.T, args []string, environment []string, file string) Settings {
	t.Helper()
	s, err := load(t, args, environment, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAFlagGoesBeforeAVariableBeforeALineBeforeTheDefault(t *testing.T) {
	line, variable, flag := "max-watches: 1\n", []string{"SIGNALBOX_MAX_WATCHES=2"}, []string{"--max-watches", "3"}
	for _, c := range []struct {
		args []string
		env  []string
		file string
		want int
	}{
		{nil, nil, "", DefaultMaxWatches},
		{nil, nil, line, 1},
		{nil, variable, "", 2},
		{nil, variable, line, 2},
		{flag, nil, "", 3},
		{flag, nil, line, 3},
		{flag, variable, "", 3},
		{flag, variable, line, 3},
		{append(flag, "--max-watches", "4"), nil, "", 4},
		{nil, []string{"SIGNALBOX_MAX_WATCHES="}, line, 1},
		{nil, nil, "max-watches:\n", DefaultMaxWatches},
	} {
		if s := mustLoad(t, c.args, c.env, c.file); s.MaxWatches != c.want {
			t.Errorf("%v %v %q: %d watches, want %d", c.args, c.env, c.file, s.MaxWatches, c.want)
		}
	}
}

func TestNothingSaidIsOneHostOnThisMachine(t *testing.T) {
	withMemory(t, 256<<20)
	s := mustLoad(t, nil, nil, "")
	s.origins = nil
	want := Defaults()
	want.Name, want.InitialHosts, want.alone = "signalbox", []InitialHost{{Name: "signalbox"}}, true
	want.Listen, want.Advertise = "127.0.0.1:7420", "127.0.0.1:7420"
	want.MemoryLimit, want.MaxOutputBuffer, want.MaxInputBuffer, want.MaxWatchMemory = 256<<20, 14<<20, 8<<20, 14<<20
	want.RaftListen, want.HTTPListen, want.httpByDefault = Off, DefaultHTTPListen, true
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if s.HostID() != 1 || s.AdminAdvertise() != "127.0.0.1:7422" || !s.ServesPlain() || s.ServesTLS() ||
		!s.ServesAdmin() {
		t.Errorf("host %d, admin %s", s.HostID(), s.AdminAdvertise())
	}
}

// TestAnEmptyAddressTurnsTheHTTPAPIOff: only if given explicitly; an empty variable is ignored, as for every setting.
func TestAnEmptyAddressTurnsTheHTTPAPIOff(t *testing.T) {
	for _, c := range []struct {
		args, environment []string
		file              string
		serves            bool
	}{
		{nil, nil, "", true},
		{[]string{"--http-listen", ""}, nil, "", false},
		{[]string{"--http-listen="}, nil, "", false},
		{[]string{"--http-listen", "off"}, nil, "", false},
		{nil, nil, "http-listen: \"\"\n", false},
		{nil, []string{"SIGNALBOX_HTTP_LISTEN="}, "", true},
		{nil, []string{"SIGNALBOX_HTTP_LISTEN=off"}, "", false},
	} {
		if s := mustLoad(t, c.args, c.environment, c.file); s.ServesHTTP() != c.serves || s.WantsHTTP() {
			t.Errorf("%q %q %q: the address is %q", c.args, c.environment, c.file, s.HTTPListen)
		}
	}
}

func TestWhatFollowsFromOtherSettings(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "some.pem")
	kept := t.TempDir()
	for _, path := range []string{pem, filepath.Join(kept, "raft-secret")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args string
		show func(Settings) any
		want any
	}{
		"a join token brings the secret": {
			"--join 10.0.0.9:7421 --raft-listen 10.0.0.7:7421 --join-token-file some.token",
			func(s Settings) any { return []any{s.Joins(), s.IsLocal(), s.RaftSecretFile, len(s.Warnings())} },
			[]any{true, false, "", 0},
		},
		"what was given at the join counts": {
			"--raft-listen 10.0.0.7:7421 --data-dir " + kept,
			func(s Settings) any { return s.RaftSecretFile }, filepath.Join(kept, "raft-secret"),
		},
		"what is given goes before it": {
			"--raft-listen 10.0.0.7:7421 --data-dir " + kept + " --raft-secret-file " + pem,
			func(s Settings) any { return s.RaftSecretFile }, pem,
		},
		"hosts to join": {
			"--join a:1,b:2 --join a:1 --insecure --raft-listen c:3",
			func(s Settings) any { return s.Join }, []string{"a:1", "b:2"},
		},
		"hosts are sorted, whatever the order": {
			"--name b --insecure --initial-hosts c=10.0.0.3:1 --initial-hosts a=10.0.0.1:1,b=10.0.0.2:1",
			func(s Settings) any { return FormatHosts(s.InitialHosts) }, "a=10.0.0.1:1,b=10.0.0.2:1,c=10.0.0.3:1",
		},
		"ids follow from the names": {
			"--name b --insecure --initial-hosts c=10.0.0.3:1 --initial-hosts a=10.0.0.1:1 --initial-hosts " +
				"b=10.0.0.2:1",
			func(s Settings) any { return s.HostID() }, shard.HostID(2),
		},
		"members have the ids": {
			"--name b --initial-hosts b=127.0.0.1:2 --initial-hosts a=127.0.0.1:1",
			func(s Settings) any { return s.InitialHosts },
			[]InitialHost{{Name: "a", Raft: "127.0.0.1:1"}, {Name: "b", Raft: "127.0.0.1:2"}},
		},
		"a list of one host names it": {
			"--initial-hosts a=127.0.0.1:1", func(s Settings) any { return s.Name }, "a",
		},
		"Raft listens where the list says": {
			"--name a --initial-hosts a=127.0.0.1:1 --initial-hosts b=127.0.0.1:2",
			func(s Settings) any { return s.RaftListen }, "127.0.0.1:1",
		},
		"Raft may listen elsewhere": {
			"--name a --insecure --raft-listen :7 --initial-hosts a=10.0.0.1:1 --initial-hosts b=10.0.0.2:2",
			func(s Settings) any { return s.RaftListen + " " + s.RaftAdvertise }, "0.0.0.0:7 10.0.0.1:1",
		},
		"a single host may advertise another address": {
			"--insecure --raft-listen :7 --raft-advertise box:7",
			func(s Settings) any { return FormatHosts(s.InitialHosts) }, "signalbox=box:7",
		},
		"TLS takes the place of plain": {
			"--tls-listen 127.0.0.1:7 --tls-cert PEM --tls-key PEM",
			func(s Settings) any { return s.Listen + " " + s.Advertise }, "off 127.0.0.1:7",
		},
		"TLS beside plain is what clients are told": {
			"--listen 127.0.0.1:6 --tls-listen 127.0.0.1:7 --tls-cert PEM --tls-key PEM",
			func(s Settings) any { return s.Listen + " " + s.Advertise }, "127.0.0.1:6 127.0.0.1:7",
		},
		"an admin listener on all addresses is told with the host of the clients'": {
			"--insecure --listen :6 --advertise box:6 --admin-listen :8",
			func(s Settings) any { return s.AdminAdvertise() }, "box:8",
		},
		"names over HTTP are those that are given and those of its addresses": {
			"--name a --http-allowed-hosts One.example.com,two --advertise box:7 --raft-advertise raft.example.com:9 " +
				"--raft-listen 127.0.0.1:9 --insecure",
			func(s Settings) any {
				return strings.Join(s.NamesOverHTTP(),
					" ")
			}, "one.example.com two a 127.0.0.1 box raft.example.com",
		},
		"no admin listener": {
			"--admin-listen off", func(s Settings) any { return s.AdminAdvertise() }, "",
		},
		"TLS and tokens need no leave": {
			"--tls-listen 10.0.0.1:7 --tls-cert PEM --tls-key PEM --token-file PEM",
			func(s Settings) any { return s.Advertise }, "10.0.0.1:7",
		},
		"certificates of clients do as well": {
			"--tls-listen 10.0.0.1:7 --tls-cert PEM --tls-key PEM --tls-client-ca PEM",
			func(s Settings) any { return s.Advertise }, "10.0.0.1:7",
		},
		"Raft with certificates needs no leave": {
			"--raft-listen 10.0.0.1:7 --raft-tls-cert PEM --raft-tls-key PEM --raft-tls-ca PEM",
			func(s Settings) any { return s.RaftAdvertise }, "10.0.0.1:7",
		},
		"localhost and ::1 are this machine": {
			"--listen localhost:6 --raft-listen [::1]:7 --admin-listen 127.1.2.3:8",
			func(s Settings) any { return s.Advertise }, "localhost:6",
		},
		"insecure without a value is all": {"--insecure", func(s Settings) any { return s.Insecure }, PartsAll},
		"insecure names parts": {"--insecure=admin,raft", func(s Settings) any { return s.Insecure },
			PartAdmin | PartRaft},
		"levels": {"--log-level DEBUG", func(s Settings) any { return s.LogLevel },
			slog.LevelDebug},
		"sizes": {"--max-data-size 1MiB", func(s Settings) any { return s.MaxDataSize },
			Size(1 << 20)},
		"durations": {"--raft-heartbeat-interval 100ms", func(s Settings) any { return s.RaftHeartbeatInterval },
			100 * time.Millisecond},
		"switches": {"--pprof --raft-metrics=false",
			func(s Settings) any { return fmt.Sprint(s.Pprof, s.RaftMetrics) }, "true false"},
		"the same port on other interfaces": {"--insecure --listen 10.0.0.1:7 --admin-listen 127.0.0.1:7",
			func(s Settings) any { return s.AdminListen }, "127.0.0.1:7"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, strings.Fields(strings.ReplaceAll(c.args, "PEM", pem)), nil, "")
			if got := c.show(s); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if _, err := s.Complete(); err != nil {
				t.Errorf("what Load accepts, Complete refuses: %v", err)
			}
		})
	}
}

func TestTheListOfHostsCanBeWrittenInSeveralWays(t *testing.T) {
	want := []InitialHost{{Name: "a", Raft: "127.0.0.1:1"}, {Name: "b", Raft: "127.0.0.1:2"}}
	for _, file := range []string{
		"name: a\ninitial-hosts: a=127.0.0.1:1,b=127.0.0.1:2\n",
		"name: a\ninitial-hosts: [b=127.0.0.1:2, a=127.0.0.1:1]\n",
		"name: a\ninitial-hosts:\n  b: 127.0.0.1:2\n  a: 127.0.0.1:1\n",
		"list: &list {a: 127.0.0.1:1}\ninitial-hosts: *list\n",
	} {
		s, err := load(t, nil, nil, file)
		if strings.HasPrefix(file, "list") {
			if err == nil || !strings.Contains(err.Error(), "list: unknown setting") {
				t.Errorf("%q: %v", file, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(s.InitialHosts, want) {
			t.Errorf("%q: %v, %v", file, s.InitialHosts, err)
		}
	}
}

func TestAnEmptyFileSaysNothing(t *testing.T) {
	for _, file := range []string{"\n", "# nothing\n", "---\n", "{}\n"} {
		if s := mustLoad(t, nil, nil, file); s.Name != DefaultName {
			t.Errorf("%q: name %q", file, s.Name)
		}
	}
}

func TestWarnings(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	three := []string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts", "b=127.0.0.1:2",
		"--initial-hosts", "c=127.0.0.1:3"}
	for _, c := range []struct {
		args []string
		env  []string
		want string
	}{
		{nil, []string{"SIGNALBOX_SHARD=3", "SIGNALBOX_PORT=tcp://10.0.0.1:7420", "SIGNALBOX_SERVICE_HOST=10.0.0.1"},
			"unknown setting SIGNALBOX_SHARD is ignored; did you mean SIGNALBOX_SHARDS?"},
		{[]string{"--name", "a", "--initial-hosts", "a=127.0.0.1:1", "--initial-hosts", "b=127.0.0.1:2"}, nil,
			"a cluster with two hosts stops if one host stops; a cluster with three hosts continues; everyone " +
				"who can " +
				"connect to 127.0.0.1:1 can write to the cluster's log: the hosts have neither certificates " +
				"(--raft-tls-cert) nor a secret (--raft-secret-file)"},
		{append(three, "--raft-secret-file", secret), nil, ""},
		{append(three, "--raft-secret-file", secret, "--raft-listen", "0.0.0.0:1"), nil,
			"messages between hosts, including data and session keys, can be read in transit: a secret " +
				"authenticates but does not encrypt; --raft-tls-cert does both"},
		{[]string{"--raft-listen", "127.0.0.1:7421", "--raft-secret-file", secret}, nil, ""},
		{nil, []string{"SIGNALBOX_CONFIG=", "HOME=/"}, ""},
	} {
		s := mustLoad(t, c.args, c.env, "")
		if got := strings.Join(s.Warnings(), "; "); got != c.want {
			t.Errorf("warnings %q, want %q", got, c.want)
		}
	}
}

func TestSettingsAreCompletedWithoutLoad(t *testing.T) {
	s, err := Defaults().Complete()
	if err != nil || s.Listen != DefaultListen || s.Name != DefaultName || s.HostID() != 1 {
		t.Errorf("the defaults are %+v, %v", s, err)
	}
	s.Name = "other"
	again, err := s.Complete()
	if err != nil || again.HostID() != 1 || again.InitialHosts[0].Name != "other" {
		t.Errorf("completed again: %+v, %v", again, err)
	}
}

// TestWhichSettingsBootstrapASingleHost: only addresses unreachable from other machines.
func TestWhichSettingsBootstrapASingleHost(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		"":                                    true,
		"--listen localhost:6 --name other":   true,
		"--listen [::1]:6 --admin-listen off": true,
		"--insecure --listen 0.0.0.0:6 --advertise box:6":                                false,
		"--insecure --listen :6 --advertise box:6":                                       false,
		"--insecure --listen 10.0.0.1:6":                                                 false,
		"--insecure --listen box:6":                                                      false,
		"--insecure --admin-listen 0.0.0.0:7":                                            false,
		"--advertise box.example.com:7":                                                  true,
		"--raft-listen 127.0.0.1:7 --raft-secret-file SECRET":                            false,
		"--initial-hosts a=127.0.0.1:7 --raft-secret-file SECRET":                        false,
		"--name a --initial-hosts a=127.0.0.1:7,b=127.0.0.1:8 --raft-secret-file SECRET": false,
	} {
		s := mustLoad(t, strings.Fields(strings.ReplaceAll(args, "SECRET", secret)), nil, "")
		again, err := s.Complete()
		if s.IsLocal() != want || err != nil || again.IsLocal() != want {
			t.Errorf("%q: %t, completed again %t, want %t; %v", args, s.IsLocal(), again.IsLocal(), want, err)
		}
	}
}

func TestAnyPortIsForProgramsThatAskForIt(t *testing.T) {
	s := Defaults()
	s.Listen, s.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	if _, err := s.Complete(); err == nil || !strings.Contains(err.Error(), "would get a new port at every start") {
		t.Errorf("without asking: %v", err)
	}
	s.AnyPort = true
	if _, err := s.Complete(); err != nil {
		t.Errorf("asked for: %v", err)
	}
	s.RaftListen, s.RaftAdvertise = "127.0.0.1:7", "127.0.0.1:0"
	if _, err := s.Complete(); err == nil {
		t.Error("a Raft address without a port is accepted")
	}
}

func TestWhatIsWrongIsReportedWithoutLoad(t *testing.T) {
	s := Defaults()
	s.Listen, s.Shards = "x", 100
	want := "2 settings must be changed:\n  - --shards: the data shard count is out of range; give 1 to 64, " +
		"or omit the setting for 1\n  - --listen: x is not an address; write HOST:PORT, such as 127.0.0.1:7420"
	if _, err := s.Complete(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestJoinTokenVariableHasTheTokenItself(t *testing.T) {
	joining := strings.Fields("--join 10.0.0.9:7421 --raft-listen 10.0.0.7:7421")
	variables := []string{"SIGNALBOX_JOIN_TOKEN=sbj.secret", "SIGNALBOX_JOIN_TOKEN_FILE=a.token"}
	if s := mustLoad(t, joining, variables, ""); s.JoinToken != "sbj.secret" || s.JoinTokenFile != "" {
		t.Errorf("by the variables: %q, file %q", s.JoinToken, s.JoinTokenFile)
	}
	if s := mustLoad(t, append(joining, "--join-token-file", "b.token"), variables, ""); s.JoinToken != "" ||
		s.JoinTokenFile != "b.token" {
		t.Errorf("by the flag: %q, file %q", s.JoinToken, s.JoinTokenFile)
	}
	_, err := load(t, nil, variables[:1], "")
	if err == nil || !strings.Contains(err.Error(), "SIGNALBOX_JOIN_TOKEN: the setting is for a host that joins "+
		"a cluster") ||
		strings.Contains(err.Error(), "sbj.secret") {
		t.Errorf("without --join: %v", err)
	}
}
