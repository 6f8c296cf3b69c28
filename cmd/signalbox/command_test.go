package main

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	rights "github.com/signalbox/signalbox/protocol/access"
	levels "github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/access"
	"github.com/signalbox/signalbox/shard/meta"
)

var update = flag.Bool("update", false, "write testdata anew")

// command runs a command line in this process.
func command(environment []string, args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = run(args, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e, Environment: environment})
	return code, o.String(), e.String()
}

func TestHelpIsWhatItWas(t *testing.T) {
	for name, args := range map[string][]string{
		"help.txt":                nil,
		"help_serve.txt":          {"serve", "--help"},
		"help_token.txt":          {"token"},
		"help_token_generate.txt": {"token", "generate", "--help"},

		"help_semaphore.txt":         {"semaphore"},
		"help_semaphore_acquire.txt": {"semaphore", "acquire", "--help"},
		"help_rollout.txt":           {"rollout"},
		"help_rollout_follow.txt":    {"rollout", "follow", "--help"},
		"help_connection.txt":        {"help", "connection"},
		"help_exit_codes.txt":        {"help", "exit-codes"},
		"help_output.txt":            {"help", "output"},
	} {
		code, out, err := command(nil, args...)
		if code != 0 || err != "" {
			t.Errorf("%v: code %d, %s", args, code, err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := os.ReadFile(path)
		if out != string(want) {
			t.Errorf("%s is not what is said; go test ./cmd/signalbox -update writes it anew:\n%s", path, out)
		}
	}
}

// everyCommand returns all commands in a tree, without cobra's built-in commands.
func everyCommand(c *cobra.Command) []*cobra.Command {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return nil
	}
	found := []*cobra.Command{c}
	for _, below := range c.Commands() {
		found = append(found, everyCommand(below)...)
	}
	return found
}

// helpWidth is the maximum width of help text.
const helpWidth = 90

func TestEveryCommandTeaches(t *testing.T) {
	root := newRoot(cli.Streams{})
	for _, c := range everyCommand(root) {
		if c.Short == "" || c.Long == "" {
			t.Errorf("%s has no help", c.CommandPath())
		}
		if c.Example == "" && !c.HasSubCommands() && c.Runnable() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Long) {
			if !c.IsAdditionalHelpTopicCommand() && len(line) > helpWidth {
				t.Errorf("%s: a line of the help is too long: %s", c.CommandPath(), line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no help", c.CommandPath(), f.Name)
			}
		})
	}
}

// TestEveryFaceIsACommand: a row in the table of plain operations is enough for a command.
func TestEveryFaceIsACommand(t *testing.T) {
	root := newRoot(cli.Streams{})
	var faces []operation.Face
	for _, o := range operation.All() {
		faces = append(faces, o.Faces...)
	}
	for _, f := range faces {
		name, found := strings.Fields(f.Use), 0
		for i, word := range name {
			if strings.ToLower(word) != word || strings.Contains(word, "--") {
				name = name[:i]
				break
			}
		}
		for _, c := range everyCommand(root) {
			if title(c) == strings.Join(name, " ") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s is there %d times: want 1", f.Use, found)
		}
		if (f.Table == nil) == (f.Show == nil && f.Done == "" && f.Then == "") {
			t.Errorf("%s prints nothing, or twice", f.Use)
		}
	}
}

func TestTheHelpOfACommandFitsAScreen(t *testing.T) {
	for _, c := range everyCommand(newRoot(cli.Streams{})) {
		if c.IsAdditionalHelpTopicCommand() {
			continue
		}
		name := strings.Fields(strings.TrimPrefix(c.CommandPath(), "signalbox"))
		_, brief, _ := command(nil, append(name, "--help")...)
		_, whole, _ := command(nil, append([]string{"help"}, name...)...)
		most := cli.Screen
		if c.HasSubCommands() {
			most += len(c.Commands())
		}
		if lines := strings.Count(brief, "\n"); lines > most {
			t.Errorf("%s --help has %d lines: want at most %d", c.CommandPath(), lines, most)
		}
		if brief != whole && !strings.HasSuffix(brief, "shows the full help.\n") {
			t.Errorf("%s --help leaves something out, and does not say who tells it", c.CommandPath())
		}
		if !strings.Contains(whole, c.Long) || !strings.Contains(whole, c.Example) {
			t.Errorf("signalbox help %s leaves something out", strings.Join(name, " "))
		}
	}
}

// exampleLine finds signalbox command lines in an example.
var exampleLine = regexp.MustCompile(`signalbox( ("[^"]*"|'[^']*'|[^|;&)<>"']+)+)`)

// redirection matches the redirections that a shell removes from a command line.
var redirection = regexp.MustCompile(`\d?[<>]+ *\S+`)

func TestExamplesCanBeTypedAsTheyStand(t *testing.T) {
	n := 0
	for _, c := range everyCommand(newRoot(cli.Streams{})) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			line = redirection.ReplaceAllString(line, "")
			for _, found := range exampleLine.FindAllStringSubmatch(line, -1) {
				args := regexp.MustCompile(`("[^"]*"|'[^']*'|[^ "']+)+`).FindAllString(strings.TrimSpace(found[1]), -1)
				for i := range args {
					args[i] = regexp.MustCompile(`["']`).ReplaceAllString(args[i], "")
				}
				if err := typed(args); err != nil {
					t.Errorf("%s: signalbox %q: %v", c.CommandPath(), args, err)
				}
				n++
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d examples were found", n)
	}
}

// typed checks that a command line can be parsed.
func typed(args []string) error {
	c, rest, err := newRoot(cli.Streams{}).Find(args)
	if err != nil {
		return err
	}
	if c.HasSubCommands() {
		return errors.New("it is no command")
	}
	if err := c.ParseFlags(rest); err != nil {
		// A shell variable is in place of a number.
		if !strings.Contains(err.Error(), `"$`) {
			return err
		}
		return nil
	}
	return c.ValidateArgs(c.Flags().Args())
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serv"}, `signalbox: unknown command "serv"; did you mean serve?`},
		{[]string{"sing"}, `signalbox: unknown command "sing"; signalbox --help lists the commands`},
		{[]string{"help", "sing"},
			`signalbox: no help about "sing"; signalbox --help lists the commands and topics`},
		{[]string{"--shards"}, `signalbox: unknown flag: --shards; signalbox --help lists the flags`},
		{[]string{"serve", "here"},
			`signalbox: signalbox serve takes no arguments, but got "here"; run signalbox serve --help`},
		{[]string{"serve", "--shard", "3"}, `signalbox: unknown flag: --shard; did you mean --shards?`},
		{[]string{"serve", "--shards"},
			`signalbox: flag needs an argument: --shards; signalbox serve --help lists the flags`},
		{[]string{"serve", "--shards", "x", "--listen", "y"}, "signalbox: 2 settings must be changed:\n  - " +
			"--shards x: not a whole number; give a number such as 4\n  - --listen y: it is not an address; " +
			"write HOST:PORT, such as 127.0.0.1:7420"},
		{[]string{"token", "make"}, `signalbox: unknown command "make"; signalbox token --help lists the commands`},
		{[]string{"token", "generate"}, "signalbox: cannot generate a token: the name of a principal has 0 bytes; " +
			"1 to 256 are allowed; give a valid --name"},
	} {
		code, out, err := command(nil, c.args...)
		if code != cli.ExitUsage || out != "" || err != c.want+"\n" {
			t.Errorf("%v: code %d, out %q\ngot  %swant %s", c.args, code, out, err, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	if code, out, _ := command(nil, "--version"); code != 0 || out != "signalbox "+programVersion()+"\n" {
		t.Errorf("--version: code %d, %q", code, out)
	}
	version, commit, date = "v1.2.3", "0123abc", "2026-11-23T10:00:00Z"
	defer func() { version, commit, date = "", "", "" }()
	newest := strconv.Itoa(int(levels.Newest))
	for asked, want := range map[string]string{
		"table": "signalbox      v1.2.3\ncommit         0123abc\ndate           2026-11-23T10:00:00Z\n" +
			"newest level   " + newest + "\n",
		"json": `{"version":"v1.2.3","commit":"0123abc","date":"2026-11-23T10:00:00Z","supported_feature_level":` + newest + "}\n",
	} {
		if code, out, _ := command(nil, "version", "-o", asked); code != 0 || out != want {
			t.Errorf("%s: code %d, %q", asked, code, out)
		}
	}
	if v := programVersion(); v == "" || len(v) > meta.MaxHostVersion || strings.ContainsAny(v, " \n") {
		t.Errorf("version %q", v)
	}
}

// generated returns the token that token generate printed, and the line for a token file.
func generated(t *testing.T, args ...string) (token, line string) {
	t.Helper()
	code, out, err := command(nil, append([]string{"token", "generate"}, args...)...)
	if code != 0 || err != "" {
		t.Fatalf("code %d, %s", code, err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range lines {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "sbx_") {
			token = l
		}
	}
	return token, lines[len(lines)-1]
}

func TestARootTokenWorksWithItsLine(t *testing.T) {
	token, line := generated(t, "--name", "ops")
	path := filepath.Join(t.TempDir(), "root-tokens.yaml")
	if err := os.WriteFile(path, []byte("principals:\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := access.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, name, ok := file.Authenticate([]byte(token)); !ok || name != "ops" {
		t.Errorf("the token %q does not enter with %s", token, line)
	}
}

func TestATokenWithGrantsHasALineForAccessRules(t *testing.T) {
	token, line := generated(t, "--name", "billing", "--grant", "write:/prod/billing", "--grant", "read:/test:a-")
	got, err := access.ParseRules([]byte("principals:\n" + line + "\n"))
	want := rights.Rules{Principals: []rights.Principal{{Name: "token:billing", SHA256: access.HashText(token),
		Grants: []rights.Grant{{Role: "write", Path: "/prod/billing"}, {Role: "read", Path: "/test", Object: "a-"}}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n%v, got %+v", line, err, got)
	}
}
