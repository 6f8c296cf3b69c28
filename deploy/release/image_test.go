package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// patience is the maximum wait for an expected event, on any machine.
const patience = 2 * time.Minute

// readImage returns a product image's config and layer.
func readImage(t *testing.T, product string) (config imageConfig, headers map[string]*tar.Header,
	layer map[string][]byte,
) {
	t.Helper()
	_, blobs := untar(t, bytes.NewReader(read(t, releaseHere(t), product+"_1.2.3-rc.1_image.tar")))
	blob := func(d descriptor) []byte {
		content := blobs["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if len(content) != d.Size || d.Size == 0 {
			t.Fatalf("the blob of %+v has %d bytes", d, len(content))
		}
		return content
	}
	decode := func(text []byte, into any) {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	var top, all, one manifest
	decode(blobs["index.json"], &top)
	if top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3-rc.1" || len(top.Manifests) != 1 {
		t.Errorf("the image has no name: %+v", top)
	}
	decode(blob(top.Manifests[0]), &all)
	if len(all.Manifests) != 1 || *all.Manifests[0].Platform != (ociPlatform{runtime.GOARCH, "linux"}) {
		t.Fatalf("the systems are %+v", all.Manifests)
	}
	decode(blob(all.Manifests[0]), &one)
	var file struct {
		Config imageConfig
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(blob(*one.Config), &file)
	headers, layer = untar(t, gunzip(t, blob(one.Layers[0])))
	if len(one.Layers) != 1 || len(file.RootFS.DiffIDs) != 1 {
		t.Errorf("%d layers, %q", len(one.Layers), file.RootFS.DiffIDs)
	}
	return file.Config, headers, layer
}

// TestImagesAreWhatTheirDockerfilesSay: Docker builds the same images.
func TestImagesAreWhatTheirDockerfilesSay(t *testing.T) {
	host, headers, _ := readImage(t, "signalbox")
	if host.Labels["org.opencontainers.image.version"] != "1.2.3-rc.1" {
		t.Errorf("labels %v", host.Labels)
	}
	host.Labels = nil
	if want := (imageConfig{
		User: "65532:65532", Env: []string{"PATH=/usr/local/bin", "SIGNALBOX_DATA_DIR=/var/lib/signalbox"},
		ExposedPorts: map[string]struct{}{"7420/tcp": {}, "7421/tcp": {}, "7422/tcp": {}, "7424/tcp": {}},
		Entrypoint:   []string{"signalbox"}, Cmd: []string{"serve"}, StopSignal: "SIGTERM",
		Volumes: map[string]struct{}{"/var/lib/signalbox": {}},
		Healthcheck: &healthcheck{
			Test:     []string{"CMD", "signalbox", "status", "--endpoints", "127.0.0.1:7420", "--timeout", "4s"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
		},
	}); !reflect.DeepEqual(host, want) {
		t.Errorf("the image of the host is\n%+v\nwant\n%+v", host, want)
	}
	data, program := headers["var/lib/signalbox/"], headers["usr/local/bin/signalbox"]
	if data == nil || data.Uid != 65532 || data.Gid != 65532 || data.Mode != 0o700 || program == nil ||
		program.Mode != 0o755 || program.Uid != 0 {
		t.Errorf("the data is %+v, and the program %+v", data, program)
	}
	gateway, headers, _ := readImage(t, "signalbox-ydb")
	if !slices.Equal(gateway.Entrypoint, []string{"signalbox-ydb"}) || headers["usr/local/bin/signalbox-ydb"] == nil ||
		headers["var/"] != nil {
		t.Errorf("the image of the gateway is %+v", gateway)
	}
	for _, unknown := range []string{"RUN true", "COPY --link a /usr/bin/a", "HEALTHCHECK --retries=x CMD []"} {
		word, rest, _ := strings.Cut(unknown, " ")
		if err := new(dockerStage).instruct(word, rest); err == nil {
			t.Errorf("%s is passed over", unknown)
		}
	}
}

// unpack writes a layer into a folder, as containers see the layer.
func unpack(t *testing.T, dir string, headers map[string]*tar.Header, layer map[string][]byte) {
	t.Helper()
	var paths []string
	for name := range headers {
		paths = append(paths, name)
	}
	slices.Sort(paths)
	for _, name := range paths {
		h, target := headers[name], filepath.Join(dir, name)
		var err error
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(target, fs.FileMode(h.Mode))
		} else {
			err = os.WriteFile(target, layer[name], fs.FileMode(h.Mode))
		}
		if err == nil {
			err = os.Chown(target, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLayerOfTheImageIsAllThatAHostNeeds: version, serve and check work with the layer as the root directory, under
// the image's user.
func TestTheLayerOfTheImageIsAllThatAHostNeeds(t *testing.T) {
	config, headers, layer := readImage(t, "signalbox")
	needRoot(t, "chroot")
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, root, headers, layer)
	env := strings.TrimPrefix(config.Env[0], "PATH=")
	inside := []string{"chroot", "--userspec=" + config.User, root, env + "/" + config.Entrypoint[0]}
	checkVersion(t, inside...)
	serveAndCheck(t, config.Env, inside[3], func(args ...string) *exec.Cmd {
		return exec.Command(inside[0], append(slices.Clone(inside[1:]), args...)...)
	})
	if _, err := os.Stat(filepath.Join(root, "var/lib/signalbox/identity.json")); err != nil {
		t.Errorf("the host has its data elsewhere: %v", err)
	}
}

// serveAndCheck starts a host on free ports from a program, and has the tool use the host and check its health. The
// program is at path, from which a lock runs it again.
func serveAndCheck(t *testing.T, env []string, path string, program func(args ...string) *exec.Cmd) {
	t.Helper()
	ports, err := subprocess.ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	at := ports.Addresses
	env = append(slices.Clone(env), "SIGNALBOX_LISTEN="+at[0], "SIGNALBOX_ADMIN_LISTEN="+at[1],
		"SIGNALBOX_HTTP_LISTEN="+at[2], "SIGNALBOX_ENDPOINTS="+at[0])
	serve := program("serve")
	serve.Env = env
	host := launch(t, serve)
	tool := func(args ...string) ([]byte, error) {
		cmd := program(args...)
		cmd.Env = env
		return cmd.CombinedOutput()
	}
	for _, args := range [][]string{{"node", "create", "/a"}, {"lock", "/a", "job", "--", path, "version"}} {
		if text, err := tool(args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	// The governor of a newly started host has not inspected everything yet.
	var found []byte
	if err := host.Await("check finds it well", patience, func() (well bool) {
		var err error
		found, err = tool("check")
		return err == nil
	}); err != nil {
		t.Errorf("%v\n%s", err, found)
	}
	if err := host.Stop(patience); err != nil {
		t.Errorf("%v\n%s", err, host.Errors())
	}
}

// launch starts a host and waits until it is ready.
func launch(t *testing.T, serve *exec.Cmd) *subprocess.Process {
	t.Helper()
	host, err := subprocess.Launch("the host", serve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.End(patience) })
	if err := host.AwaitOutput("it is ready", patience, func() bool {
		return strings.Contains(host.Output(), "signalbox is ready")
	}); err != nil {
		t.Fatal(err)
	}
	return host
}
