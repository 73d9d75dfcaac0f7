package claude

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

func TestClientBands(t *testing.T) {
	must.Rows(t, `
""      | to 2.1.11
1.0.53  | to 2.1.11
2.1.12  | 2.1.12-2.1.20
2.1.20  | 2.1.12-2.1.20
2.1.21  | 2.1.21-2.1.51
2.1.52  | 2.1.52-2.1.118
2.1.119 | 2.1.119+
3.0.0   | 2.1.119+
`, func(version, want string) {
		must.Equal(t, recorder().Compactions.Of(version), want, version)
	})
}

func TestClientVersion(t *testing.T) {
	must.Rows(t, `
# version | want
""      | {"Head":14000,"Shared":14000,"SilentFrom":135000,"SilentLeast":16000}
1.0.53  | {"Head":14000,"MarkedWindows":true,"Shared":14000,"SilentFrom":135000,"SilentLeast":16000}
2.1.9   | {"Head":33500,"MarkedWindows":true,"Shared":33500,"SilentFrom":135000,"SilentLeast":16000}
2.1.11  | {"Head":28000,"MarkedWindows":true,"Shared":28000,"SilentFrom":135000,"SilentLeast":16000}
2.1.12  | {"Head":28000,"MarkedWindows":true,"Shared":28000,"SilentFrom":135000,"SilentLeast":16000}
2.1.14  | {"Head":28000,"MarkedWindows":true,"Shared":28000,"SilentFrom":135000,"SilentLeast":16000}
2.1.17  | {"Head":18600,"MarkedWindows":true,"Shared":16100,"SilentFrom":135000,"SilentLeast":16000}
2.1.25  | {"Head":28000,"MarkedWindows":true,"Shared":10950}
2.1.37  | {"Head":17000,"MarkedWindows":true,"OneHead":true,"Shared":17000}
2.1.38  | {"Head":17000,"MarkedWindows":true,"OneHead":true,"Shared":17000}
2.1.51  | {"Head":17000,"MarkedWindows":true,"OneHead":true,"Shared":17000}
2.1.52  | {"Head":17000,"MarkedWindows":true,"OneHead":true,"Shared":17000}
2.1.78  | {"Head":17000,"OneHead":true,"Shared":17000}
2.1.84  | {"Head":17000,"KeepsThinking":true,"OneHead":true,"Shared":17000}
2.1.105 | {"Head":17000,"KeepsThinking":true,"OneHead":true,"RecordsAttached":true,"Shared":17000}
2.1.199 | {"Head":17000,"KeepsThinking":true,"OneHead":true,"RecordsAttached":true,"Shared":17000}
2.1.280 | {"Head":17000,"KeepsThinking":true,"OneHead":true,"RecordsAttached":true,"SameSystem":true}
2.1.239 | {"Head":17000,"KeepsThinking":true,"OneHead":true,"RecordsAttached":true}
`, func(version string, want policy.ClientVersion) {
		if version != "" {
			want.Headroom = 33000
		}
		want.LeastWindow = map[bool]int{true: 100000}[session.CompareVersions(version, "2.1.89") >= 0]
		want.Reactive = session.CompareVersions(version, "2.1.153") >= 0
		must.Equal(t, clientVersion(version), want, version)
	})
	if v := clientVersion("2.1.283"); v.CompactsIdle != 6*time.Minute || v.IdleLeast != 100000 {
		t.Errorf("%+v", v)
	}
}
