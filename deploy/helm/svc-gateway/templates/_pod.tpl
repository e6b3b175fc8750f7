{{- define "svc-gateway.pod" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (not (empty .Values.tls.secretName)) -}}
{{- $files := or .Values.apiKeys.secretName .Values.services.secretName .Values.valkey.passwordSecretName .Values.tls.secretName -}}
automountServiceAccountToken: false
# Variables such as GATEWAY_PORT, of a Service named gateway, would be taken for settings.
enableServiceLinks: false
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.runAsUser }}
  runAsGroup: {{ .Values.runAsUser }}
  fsGroup: {{ .Values.runAsUser }}
  seccompProfile:
    type: RuntimeDefault
topologySpreadConstraints:
  {{- range $key, $when := dict "topology.kubernetes.io/zone" .Values.spread.zones "kubernetes.io/hostname" .Values.spread.nodes }}
  - topologyKey: {{ $key }}
    maxSkew: 1
    whenUnsatisfiable: {{ $when }}
    labelSelector:
      matchLabels:
        {{- include "svc-gateway.selectorLabels" $ | nindent 8 }}
    # Otherwise the pods of before a rollout count, and those of after it end up together.
    matchLabelKeys:
      - {{ ternary "controller-revision-hash" "pod-template-hash" (eq $.Values.kind "StatefulSet") }}
  {{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: gateway
    image: {{ include "svc-gateway.image" . | quote }}
    imagePullPolicy: {{ .Values.imagePullPolicy }}
    {{- with .Values.command }}
    command:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    ports:
      - name: http
        containerPort: 8080
      {{- if .Values.metrics.enabled }}
      - name: metrics
        containerPort: {{ .Values.metrics.port }}
      {{- end }}
    env:
      {{- include "svc-gateway.env" . | nindent 6 }}
    startupProbe:
      httpGet: { path: /healthz, port: http, scheme: {{ $scheme }} }
      periodSeconds: 1
      failureThreshold: 60
    # A restart does not help a replica without an agent.
    livenessProbe:
      httpGet: { path: /healthz, port: http, scheme: {{ $scheme }} }
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    # Out of the callers' Service within 6 s.
    readinessProbe:
      httpGet: { path: /readyz, port: http, scheme: {{ $scheme }} }
      periodSeconds: 2
      timeoutSeconds: 1
      failureThreshold: 2
    resources:
      {{- include "svc-gateway.resources" . | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      # The sockets between workers.
      - name: tmp
        mountPath: /tmp
      {{- if $files }}
      - name: files
        mountPath: /etc/svc
        readOnly: true
      {{- end }}
      {{- with .Values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 16Mi
  {{- if $files }}
  - name: files
    projected:
      defaultMode: 0440
      sources:
        {{- with .Values.apiKeys }}{{ if .secretName }}
        - secret:
            name: {{ .secretName | quote }}
            items: [{ key: {{ .key | quote }}, path: api-keys.json }]
        {{- end }}{{ end }}
        {{- with .Values.services }}{{ if .secretName }}
        - secret:
            name: {{ .secretName | quote }}
            items: [{ key: {{ .key | quote }}, path: services.json }]
        {{- end }}{{ end }}
        {{- with .Values.valkey }}{{ if .passwordSecretName }}
        - secret:
            name: {{ .passwordSecretName | quote }}
            items: [{ key: {{ .passwordKey | quote }}, path: valkey-password }]
        {{- end }}{{ end }}
        {{- with .Values.tls.secretName }}
        - secret:
            name: {{ . | quote }}
            items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }]
        {{- end }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "svc-gateway.env" -}}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- $settings := dict "GATEWAY_ADDR" ":8080" }}
{{- $_ := set $settings "GATEWAY_REPLICAS" (printf "dns:%s" (include "svc-gateway.agentsHost" .)) }}
{{- $_ := set $settings "GATEWAY_SHUTDOWN_DELAY" .Values.shutdownDelay }}
{{- $_ := set $settings "GATEWAY_READY_AFTER" .Values.readyAfter }}
{{- $_ := set $settings "GATEWAY_AGENT_WAIT" .Values.agentWait }}
{{- $_ := set $settings "GATEWAY_WORKERS" (toString .Values.workers) }}
{{- if .Values.linksPerReplica }}
{{- $_ := set $settings "GATEWAY_LINKS_PER_REPLICA" (toString .Values.linksPerReplica) }}
{{- end }}
{{- with .Values.publicUrl }}
{{- $_ := set $settings "GATEWAY_PUBLIC_URL" . }}
{{- end }}
{{- with include "svc-gateway.agentUrls" . }}
{{- $_ := set $settings "GATEWAY_AGENT_URLS" . }}
{{- end }}
{{- with .Values.agentPublicKeys }}
{{- $_ := set $settings "GATEWAY_AGENT_PUBLIC_KEY" (join "," .) }}
{{- end }}
{{- if .Values.apiKeys.secretName }}
{{- $_ := set $settings "GATEWAY_API_KEYS_FILE" "/etc/svc/api-keys.json" }}
{{- else if .Values.agentPublicKeys }}
{{- $_ := set $settings "GATEWAY_API_KEYS_JSON" "[]" }}
{{- end }}
{{- if .Values.services.secretName }}
{{- $_ := set $settings "GATEWAY_SERVICES_FILE" "/etc/svc/services.json" }}
{{- end }}
{{- with .Values.issuers }}
{{- $_ := set $settings "GATEWAY_ISSUERS_JSON" (toJson .) }}
{{- end }}
{{- with .Values.valkey.url }}
{{- $_ := set $settings "GATEWAY_VALKEY_URL" . }}
{{- end }}
{{- with .Values.valkey.prefix }}
{{- $_ := set $settings "GATEWAY_VALKEY_PREFIX" . }}
{{- end }}
{{- if .Values.valkey.passwordSecretName }}
{{- $_ := set $settings "GATEWAY_VALKEY_PASSWORD_FILE" "/etc/svc/valkey-password" }}
{{- end }}
{{- if .Values.tls.secretName }}
{{- $_ := set $settings "GATEWAY_TLS_CERT_FILE" "/etc/svc/tls.crt" }}
{{- $_ := set $settings "GATEWAY_TLS_KEY_FILE" "/etc/svc/tls.key" }}
{{- end }}
{{- if .Values.metrics.enabled }}
{{- $_ := set $settings "GATEWAY_METRICS_ADDR" (printf ":%d" (int .Values.metrics.port)) }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if hasKey $settings $name }}
{{- fail (printf "settings.%s: the chart sets it from another value" $name) }}
{{- end }}
{{- $_ := set $settings $name $value }}
{{- end }}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- if and .Values.apiKeys.secretName (not .Values.agentPublicKeys) }}
- name: GATEWAY_AGENT_PUBLIC_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.apiKeys.secretName | quote }}
      key: agent-public-keys
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
